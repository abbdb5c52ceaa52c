/** `holdfast release`: releases a claim by its id, for scripts that ended without doing so. */
import type { Locks } from 'holdfast'
import { NAMESPACE_OPTION, OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { renderHelp } from '../args/help.js'
import { inNamespace, operandsOf } from '../args/name.js'
import { parseOptions } from '../args/options.js'
import { CliError, UsageError } from '../cli-error.js'
import { EXIT } from '../exit-codes.js'
import { printAnswer } from '../output/json.js'
import { withLocks } from '../stores/with-locks.js'
import type { Command } from './command.js'
import { stdout } from '../output/streams.js'

const OPTIONS = { ...STORE_OPTIONS, ...NAMESPACE_OPTION, ...OUTPUT_OPTIONS }

/** How long the store refuses the claim afterwards. No request stays in flight for that long. */
const REFUSED_MS = 3_600_000

export const command: Command = {
  help: {
    usage: 'holdfast release NAME CLAIM-ID [options]',
    about: `Releases the lock NAME for the claim with this id (HOLDFAST_OWNER of a run, CLAIM in inspect).

The lock is free at once, even if its holder still works; a \`holdfast run\` notices at its next renewal and ends
its command. To end another program's claim in an orderly way use steal.`,
    options: OPTIONS,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    const { values } = parsed
    if (values.help === true) {
      stdout().write(renderHelp(this.help))
      return EXIT.ok
    }
    const [operand, id, extra] = operandsOf(parsed)
    if (operand === undefined || id === undefined || extra !== undefined) {
      throw new UsageError(
        'Write: holdfast release NAME CLAIM-ID. The claim id is in `holdfast inspect NAME`.',
      )
    }
    if (!/^[\w.-]{1,64}$/.test(id)) throw new UsageError(`${JSON.stringify(id)} is not a claim id.`)
    const name = inNamespace(values.namespace, operand)
    return withLocks(values, async (locks) => {
      // `mutex` checks the name.
      locks.mutex(name)
      assertReachable(locks)
      const outcome = await locks.store.withdraw({ lock: name, id, ttlMs: REFUSED_MS })
      if (outcome === 'absent') throw notHeld(name, id)
      if (values.json === true) printAnswer({ lock: name, claimId: id, outcome })
      else
        stdout().write(
          outcome === 'released' ? `Released "${name}".\n` : `Left the queue of "${name}".\n`,
        )
      return EXIT.ok
    })
  },
}

/** A lock that belongs to a connection can be released by its own process only. */
function assertReachable({ store: { name, traits } }: Locks): void {
  if (traits.inspect) return
  throw new CliError(
    `The ${name} store cannot release the claim of another process. End the process that holds the lock.`,
    'UNSUPPORTED',
  )
}

function notHeld(name: string, id: string): CliError {
  return new CliError(
    `The claim ${id} neither holds "${name}" nor waits for it: it was released, or its lease ended. ` +
      `See holdfast inspect ${JSON.stringify(name)}.`,
    'NOT_HELD',
  )
}
