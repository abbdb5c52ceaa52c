/**
 * `holdfast migrate`: makes what a store in a database needs, or prints it for those who do that by
 * hand.
 */
import { OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { renderHelp } from '../args/help.js'
import { operandsOf } from '../args/name.js'
import { parseOptions } from '../args/options.js'
import { UsageError } from '../cli-error.js'
import { EXIT } from '../exit-codes.js'
import { printJson } from '../output/json.js'
import { locateStore } from '../stores/locate.js'
import { migrationOf } from '../stores/registry.js'
import type { Command } from './command.js'

const OPTIONS = {
  ...STORE_OPTIONS,
  print: { type: 'boolean', help: 'Print the SQL and change nothing.' },
  ...OUTPUT_OPTIONS,
} as const

export const command: Command = {
  help: {
    usage: 'holdfast migrate --store URL [--print]',
    about: `Makes the tables and routines that a store in a database needs. It may be run again at any time.
Other stores need nothing of the kind.`,
    options: OPTIONS,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    if (parsed.values.help === true) {
      process.stdout.write(renderHelp(this.help))
      return EXIT.ok
    }
    const [extra] = operandsOf(parsed)
    if (extra !== undefined)
      throw new UsageError(`migrate takes no operand; ${JSON.stringify(extra)} is too much.`)
    const location = locateStore(parsed.values)
    const migration = await migrationOf(location.url)
    const { print, json } = parsed.values
    if (print === true) {
      const sql = migration.script(location.url)
      if (json === true) printJson({ store: location.shown, sql })
      else process.stdout.write(sql)
      return EXIT.ok
    }
    await migration.migrate(location.url)
    if (json === true) printJson({ store: location.shown, migrated: true })
    else process.stdout.write(`${location.shown} has what it needs.\n`)
    return EXIT.ok
  },
}
