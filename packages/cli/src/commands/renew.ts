/** `holdfast renew`: renews the lock of a handle. */
import { OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { printHelp } from '../args/help.js'
import { oneHandle } from '../args/name.js'
import { parseOptions } from '../args/options.js'
import { EXIT } from '../exit-codes.js'
import { printAnswer } from '../output/json.js'
import { stdout } from '../output/streams.js'
import { withLocks } from '../stores/with-locks.js'
import type { Command } from './command.js'

const OPTIONS = { ...STORE_OPTIONS, ...OUTPUT_OPTIONS }

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
    return withLocks(parsed.values, async (locks) => {
      await locks.renewHandle(handle)
      if (parsed.values.json === true) printAnswer({ outcome: 'renewed' })
      else stdout().write('Renewed.\n')
      return EXIT.ok
    })
  },
}
