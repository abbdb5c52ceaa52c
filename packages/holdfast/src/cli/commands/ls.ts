/** `holdfast ls`: lists the locks that are held or waited for. */
import { NAMESPACE_OPTION, OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { printHelp } from '../args/help.js'
import { operandsOf, prefixOf } from '../args/name.js'
import { parseOptions } from '../args/options.js'
import { EXIT } from '../exit-codes.js'
import { findLocks } from '../output/all-locks.js'
import { printFound } from '../output/found.js'
import { lockJson } from '../output/json.js'
import { renderLocks } from '../output/lock-table.js'
import { withLocks } from '../stores/with-locks.js'
import type { Command } from './command.js'

const OPTIONS = { ...STORE_OPTIONS, ...NAMESPACE_OPTION, ...OUTPUT_OPTIONS }
const LIMIT = 1_000
const MORE = `\nThere are more than these ${LIMIT}. Give the beginning of their names: holdfast ls PREFIX\n`

export const command: Command = {
  help: {
    usage: 'holdfast ls [PREFIX] [options]',
    about:
      'Lists the locks that are held or waited for: all of them, or those whose names begin with PREFIX.',
    options: OPTIONS,
    notes: `
A terminal shows the columns that fit. A pipe gets every column, and nothing in it is cut.`,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    const { values } = parsed
    if (values.help === true) return printHelp(this.help)
    const prefix = prefixOf(operandsOf(parsed), values.namespace)
    return withLocks(values, async (locks, location) => {
      const { locks: found, truncated } = await findLocks(locks, prefix, LIMIT)
      printFound(values.json === true, location, {
        json: (nowMs) => ({ locks: found.map((info) => lockJson(info, nowMs)), truncated }),
        page: (options) =>
          `Store: ${location.shown} (${location.source})\n\n` +
          renderLocks(found, options) +
          (truncated ? MORE : ''),
      })
      return EXIT.ok
    })
  },
}
