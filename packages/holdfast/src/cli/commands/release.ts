/** `holdfast release`: releases the lock of a handle. */
import { OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { printHelp } from '../args/help.js'
import { oneHandle } from '../args/name.js'
import { parseOptions } from '../args/options.js'
import { EXIT } from '../exit-codes.js'
import { printAnswer } from '../output/json.js'
import { stdout } from '../output/streams.js'
import { releaseHandle } from '../run/release-handle.js'
import { withLocks } from '../stores/with-locks.js'
import type { Command } from './command.js'

const OPTIONS = { ...STORE_OPTIONS, ...OUTPUT_OPTIONS }

export const command: Command = {
  help: {
    usage: 'holdfast release HANDLE [options]',
    about: `Releases the lock of a HANDLE that acquire printed. A second release is a success as well, as long as
the store remembers the first one. Exits with 74 when the lock had been lost before.
To end the claim of another program use steal.`,
    options: OPTIONS,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    if (parsed.values.help === true) return printHelp(this.help)
    const handle = oneHandle('release', parsed)
    return withLocks(parsed.values, async (locks) => {
      const outcome = await releaseHandle(locks, handle)
      if (parsed.values.json === true) printAnswer({ outcome })
      else stdout().write('Released.\n')
      return EXIT.ok
    })
  },
}
