/** What the lab takes from the command line: options, tables, errors and exit codes. */
export { LAB_ABOUT, LAB_OPTIONS, LAB_TOPICS } from '../../../holdfast/dist/cli/args/lab-options.js'
export { parseDuration } from '../../../holdfast/dist/cli/args/duration.js'
export { renderHelp } from '../../../holdfast/dist/cli/args/help.js'
export { operandsOf } from '../../../holdfast/dist/cli/args/name.js'
export {
  parseOptions,
  type OptionTable,
  type OptionValues,
} from '../../../holdfast/dist/cli/args/options.js'
export { nearest } from '../../../holdfast/dist/options/nearest-word.js'
export { CliError, ConfigError, UsageError } from '../../../holdfast/dist/cli/cli-error.js'
export type { Command } from '../../../holdfast/dist/cli/commands/command.js'
export { EXIT } from '../../../holdfast/dist/cli/exit-codes.js'
export { fold } from '../../../holdfast/dist/cli/output/fold.js'
export { printJson } from '../../../holdfast/dist/cli/output/json.js'
export {
  cutTo,
  leftOutColumns,
  renderTable,
  type Column,
} from '../../../holdfast/dist/cli/output/table.js'
export { paintFor, widthOf } from '../../../holdfast/dist/cli/output/terminal.js'
