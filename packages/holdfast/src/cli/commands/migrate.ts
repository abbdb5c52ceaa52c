/**
 * `holdfast migrate`: creates the tables and routines of a store in a database, or prints their
 * SQL.
 */
import { OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { printHelp } from '../args/help.js'
import { noOperand } from '../args/name.js'
import { parseOptions } from '../args/options.js'
import { EXIT } from '../exit-codes.js'
import { printAnswer } from '../output/json.js'
import { schemeOf } from '../../url/scheme.js'
import type * as databases from '../stores/databases.js'
import { locateStore, type StoreLocation } from '../stores/locate.js'
import type { Command } from './command.js'
import { stdout } from '../output/streams.js'

const OPTIONS = {
  ...STORE_OPTIONS,
  print: { type: 'boolean', help: 'Print the SQL and change nothing.' },
  ...OUTPUT_OPTIONS,
} as const

export const command: Command = {
  help: {
    usage: 'holdfast migrate --store URL [--print]',
    about: `Creates the tables and routines that a store in a database needs. Running it again is safe. Other stores need no tables, and nothing is done.`,
    options: OPTIONS,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    if (parsed.values.help === true) return printHelp(this.help)
    noOperand('migrate', parsed)
    const location = locateStore(parsed.values)
    const { migrate, migrationScript } = require('../stores/databases.js') as typeof databases
    const { print, json } = parsed.values
    const sql = migrationScript(location.url)
    if (print === true) {
      if (json === true) printAnswer({ store: location.shown, sql: sql ?? '' })
      else stdout().write(sql ?? `-- ${unneeded(location)}\n`)
      return EXIT.ok
    }
    if (sql !== undefined) await migrate(location)
    if (json === true) printAnswer({ store: location.shown, migrated: sql !== undefined })
    else
      stdout().write(`${sql === undefined ? unneeded(location) : `${location.shown} is ready.`}\n`)
    return EXIT.ok
  },
}

function unneeded({ url, shown }: StoreLocation): string {
  return `${shown} is ready: the ${schemeOf(url)} store needs no tables.`
}
