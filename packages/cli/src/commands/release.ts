/** `holdfast release`: gives back a claim whose id is known, for scripts that ended badly. */
import type { Locks } from 'holdfast'
import { OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { renderHelp } from '../args/help.js'
import { operandsOf } from '../args/name.js'
import { parseOptions } from '../args/options.js'
import { CliError, UsageError } from '../cli-error.js'
import { EXIT } from '../exit-codes.js'
import { printJson } from '../output/json.js'
import { withLocks } from '../stores/with-locks.js'
import type { Command } from './command.js'

const OPTIONS = { ...STORE_OPTIONS, ...OUTPUT_OPTIONS }

/** How long the claim stays refused; longer than any request can be under way. */
const REFUSED_MS = 3_600_000

export const command: Command = {
  help: {
    usage: 'holdfast release NAME CLAIM-ID [options]',
    about: `Gives back the lock NAME for the claim with this id (HOLDFAST_OWNER of a run, CLAIM in inspect).

The lock is free at once, whether or not its holder still works; a \`holdfast run\` notices at its next renewal and ends
its command. To take a lock from somebody in an orderly way use steal.`,
    options: OPTIONS,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    if (parsed.values.help === true) {
      process.stdout.write(renderHelp(this.help))
      return EXIT.ok
    }
    const [name, id, extra] = operandsOf(parsed)
    if (name === undefined || id === undefined || extra !== undefined) {
      throw new UsageError(
        'Write: holdfast release NAME CLAIM-ID. The claim id is in `holdfast inspect NAME`.',
      )
    }
    if (!/^[\w.-]{1,64}$/.test(id)) throw new UsageError(`${JSON.stringify(id)} is no claim id.`)
    return withLocks(parsed.values, async (locks) => {
      // Only to have the name checked as everywhere else.
      locks.mutex(name)
      assertReachable(locks)
      const outcome = await locks.store.withdraw({ lock: name, id, ttlMs: REFUSED_MS })
      if (outcome === 'absent') throw notHeld(name, id)
      if (parsed.values.json === true) printJson({ lock: name, claimId: id, outcome })
      else
        process.stdout.write(
          outcome === 'released' ? `Released "${name}".\n` : `Left the queue of "${name}".\n`,
        )
      return EXIT.ok
    })
  },
}

/**
 * Where a lock belongs to a connection no other process can give it back, nor even see whether it
 * is held.
 */
function assertReachable({ store: { name, traits } }: Locks): void {
  if (traits.inspect) return
  throw new CliError(
    `The ${name} store cannot release the claim of another process. End the process that holds the lock.`,
    EXIT.config,
    'UNSUPPORTED',
  )
}

function notHeld(name: string, id: string): CliError {
  return new CliError(
    `The claim ${id} neither holds "${name}" nor waits for it: it was released, or its lease ended. ` +
      `See holdfast inspect ${JSON.stringify(name)}.`,
    EXIT.lockLost,
    'LOCK_LOST',
  )
}
