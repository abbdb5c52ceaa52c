/** What the lab takes from the command line: options, tables, errors and exit codes. */
export { LAB_ABOUT, LAB_OPTIONS, LAB_TOPICS } from '../../../cli/dist/args/lab-options.js'
export { parseDuration } from '../../../cli/dist/args/duration.js'
export { renderHelp } from '../../../cli/dist/args/help.js'
export { operandsOf } from '../../../cli/dist/args/name.js'
export {
  parseOptions,
  type OptionTable,
  type OptionValues,
} from '../../../cli/dist/args/options.js'
export { nearest } from '../../../holdfast/dist/options/nearest-word.js'
export { CliError, ConfigError, UsageError } from '../../../cli/dist/cli-error.js'
export type { Command } from '../../../cli/dist/commands/command.js'
export { EXIT } from '../../../cli/dist/exit-codes.js'
export { fold } from '../../../cli/dist/output/fold.js'
export { printJson } from '../../../cli/dist/output/json.js'
export { cutTo, leftOutColumns, renderTable, type Column } from '../../../cli/dist/output/table.js'
export { paintFor, widthOf } from '../../../cli/dist/output/terminal.js'
