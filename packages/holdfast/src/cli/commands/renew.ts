/** `holdfast renew`: renews the lock of a handle. */
import { OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { printHelp } from '../args/help.js'
import { oneHandle } from '../args/name.js'
import { parseOptions, type OptionTable } from '../args/options.js'
import { EXIT } from '../exit-codes.js'
import { printAnswer } from '../output/json.js'
import { stdout } from '../output/streams.js'
import { keepWhile, processOf } from '../run/keeper.js'
import { withLocks } from '../stores/with-locks.js'
import type { Command } from './command.js'

const OPTIONS = {
  ...STORE_OPTIONS,
  pid: {
    type: 'string',
    value: 'PID',
    help: 'Renew until the process PID ends, and release the lock then.',
  },
  ...OUTPUT_OPTIONS,
} as const satisfies OptionTable

export const command: Command = {
  help: {
    usage: 'holdfast renew HANDLE [options]',
    about: `Renews the lock of a HANDLE that acquire printed, for the TTL that acquire was given. Exits with 74 when the
lock was lost: then another program may hold it already.`,
    options: OPTIONS,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    if (parsed.values.help === true) return printHelp(this.help)
    const handle = oneHandle('renew', parsed)
    const { pid } = parsed.values
    const during = pid === undefined ? undefined : processOf(pid)
    return withLocks(parsed.values, async (locks) => {
      if (during !== undefined) {
        const { json } = parsed.values
        await keepWhile(locks, handle, during, (text) => json === true || stdout().write(text))
      } else await locks.renewHandle(handle)
      const [outcome, text] =
        during === undefined ? ['renewed', 'Renewed'] : ['released', 'Released']
      if (parsed.values.json === true) printAnswer({ outcome })
      else stdout().write(`${text}.\n`)
      return EXIT.ok
    })
  },
}
