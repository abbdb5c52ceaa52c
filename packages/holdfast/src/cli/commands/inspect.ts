/** `holdfast inspect`: shows one lock with all that the store knows about it. */
import { NAMESPACE_OPTION, OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { printHelp } from '../args/help.js'
import { inNamespace, oneName } from '../args/name.js'
import { parseOptions, type OptionTable } from '../args/options.js'
import { EXIT } from '../exit-codes.js'
import { printFound } from '../output/found.js'
import { lockJson } from '../output/json.js'
import { renderLock } from '../output/lock-page.js'
import { printable } from '../output/text.js'
import { withLocks } from '../stores/with-locks.js'
import type { Command } from './command.js'

const OPTIONS = {
  'exit-code': {
    type: 'boolean',
    help: 'Exit with 75 when the lock has a holder, and with 0 when it has none.',
  },
  ...STORE_OPTIONS,
  ...NAMESPACE_OPTION,
  ...OUTPUT_OPTIONS,
} as const satisfies OptionTable

export const command: Command = {
  help: {
    usage: 'holdfast inspect NAME [options]',
    about:
      'Shows the holders and waiters of the lock NAME, with times, claim ids and fencing tokens.',
    options: OPTIONS,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    const { values } = parsed
    if (values.help === true) return printHelp(this.help)
    const name = inNamespace(values.namespace, oneName('inspect', parsed))
    return withLocks(values, async (locks, location) => {
      // `mutex` checks the name.
      const [info] = await locks.store.inspect([locks.mutex(name).name])
      printFound(values.json === true, location, {
        json: (nowMs) => ({ lock: info === undefined ? null : lockJson(info, nowMs) }),
        page: (options) =>
          `Lock:   ${printable(name)}\nStore:  ${location.shown} (${location.source})\n` +
          (info === undefined
            ? '\nNo claim holds it or waits for it.\n'
            : renderLock(info, options)),
      })
      const isHeld = info !== undefined && info.holders.length > 0
      return values['exit-code'] === true && isHeld ? EXIT.busy : EXIT.ok
    })
  },
}
