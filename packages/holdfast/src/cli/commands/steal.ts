/** `holdfast steal`: ends the grants of a lock, or one claim, on purpose and with a reason. */
import { hostname } from 'node:os'
import type { Locks } from '../../index.js'
import type { StealResult } from '../../store/index.js'
import { NAMESPACE_OPTION, OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { formatDuration } from '../args/duration.js'
import { printHelp } from '../args/help.js'
import { inNamespace, operandsOf } from '../args/name.js'
import { parseOptions, type OptionTable } from '../args/options.js'
import { CliError, UsageError } from '../cli-error.js'
import { EXIT } from '../exit-codes.js'
import { printAnswer } from '../output/json.js'
import { stdout } from '../output/streams.js'
import { userName } from '../output/user-name.js'
import { withLocks } from '../stores/with-locks.js'
import type { Command } from './command.js'

const OPTIONS = {
  ...STORE_OPTIONS,
  claim: {
    type: 'string',
    value: 'ID',
    help: 'The only claim to end, of a holder or a waiter: its id as inspect shows it.',
  },
  confirm: {
    type: 'string',
    value: 'NAME',
    help: 'The name of the lock once more. Not needed with --claim.',
  },
  reason: {
    type: 'string',
    value: 'TEXT',
    help: 'Why. The claim learns it, and inspect shows it. ZooKeeper keeps no reason for a waiter, nor with --now.',
  },
  now: {
    type: 'boolean',
    help: 'Free the lock at once, under running code. Then only the fencing token protects what the lock protected.',
  },
  ...NAMESPACE_OPTION,
  ...OUTPUT_OPTIONS,
} as const satisfies OptionTable

const USAGE = 'holdfast steal NAME (--claim ID | --confirm NAME) --reason TEXT [--now]'

export const command: Command = {
  help: {
    usage: `${USAGE} [options]`,
    about: `Ends the grants of the lock NAME. The store refuses their renewals from now on. The lock is free when the
holders let go, or when their leases end. This frees the lock for the waiters; it does not acquire it.

With --claim it ends that claim alone, of a holder or a waiter. A waiter leaves the queue at once. When the claim
neither holds nor waits any more, nothing is stolen from its successor.

Exits with 66 when nothing was stolen.`,
    options: OPTIONS,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    const { values } = parsed
    if (values.help === true) return printHelp(this.help)
    const { claim } = values
    const [operand, extra] = operandsOf(parsed)
    if (operand === undefined || extra !== undefined) throw new UsageError(`Write: ${USAGE}`)
    if (claim !== undefined && !/^[\w.-]{1,64}$/.test(claim))
      throw new UsageError(`--claim ${JSON.stringify(claim)} is not a claim id.`)
    // A claim that was looked at is named by its id already.
    const reason = checkConsent(operand, values.confirm ?? (claim && operand), values.reason)
    const name = inNamespace(values.namespace, operand)
    const by = `${userName()}@${hostname()}`
    return withLocks(values, async (locks, location) => {
      const how = { now: values.now ?? false, reason: `${by}: ${reason}` }
      const answer =
        claim === undefined
          ? await stealLock(locks, name, how)
          : await stealClaim(locks, name, { ...how, claim })
      if (values.json === true)
        printAnswer({ lock: name, store: location.shown, ...answer.json, reason, by })
      else stdout().write(`${answer.text} (${by}: ${reason}).${answer.then}\n`)
      return EXIT.ok
    })
  },
}

interface Answer {
  readonly json: object
  readonly text: string
  readonly then: string
}

async function stealLock(
  locks: Locks,
  name: string,
  options: { readonly now: boolean; readonly reason: string },
): Promise<Answer> {
  const { holders, freeInMs, guarded = false } = await locks.steal(name, options)
  if (holders === 0) throw notHeld(name, `"${name}" has no holder, so nothing was stolen.`)
  const from = holders === 1 ? 'its holder' : `its ${holders} holders`
  return {
    // `freeInMs` is null while a transaction keeps the lock: its end is unknown.
    json: { holders, freeInMs: freeInMs === undefined ? null : Math.round(freeInMs), guarded },
    text: `Took "${name}" from ${from}`,
    then: ` ${whenText(freeInMs)}`,
  }
}

async function stealClaim(
  locks: Locks,
  name: string,
  options: { readonly claim: string; readonly now: boolean; readonly reason: string },
): Promise<Answer> {
  const { holders, waiters = 0, freeInMs, guarded = false } = await locks.steal(name, options)
  const { claim: claimId } = options
  if (holders + waiters === 0) {
    throw notHeld(
      name,
      `The claim ${claimId} neither holds "${name}" nor waits for it any more, so nothing was stolen.`,
    )
  }
  if (waiters > 0) {
    return {
      json: { claimId, outcome: 'left', freeInMs: null, guarded },
      text: `Took the claim ${claimId} out of the queue of "${name}"`,
      then: '',
    }
  }
  return {
    json: {
      claimId,
      outcome: 'stolen',
      freeInMs: freeInMs === undefined ? null : Math.round(freeInMs),
      guarded,
    },
    text: `Took "${name}" from the claim ${claimId}`,
    then: ` ${whenText(freeInMs)}`,
  }
}

function checkConsent(
  name: string,
  confirm: string | undefined,
  reason: string | undefined,
): string {
  if (confirm === undefined) {
    throw new UsageError(
      `Stealing can let two commands run at once. To confirm, repeat the name: --confirm ${JSON.stringify(name)}`,
    )
  }
  if (confirm !== name) {
    throw new UsageError(
      `--confirm ${JSON.stringify(confirm)} is not the lock ${JSON.stringify(name)}. Nothing was done.`,
    )
  }
  if (reason === undefined || reason.trim() === '') throw new UsageError('Say why: --reason TEXT')
  return reason
}

function notHeld(name: string, text: string): CliError {
  return new CliError(`${text} See holdfast inspect ${JSON.stringify(name)}.`, 'NOT_HELD')
}

function whenText(freeInMs: StealResult['freeInMs']): string {
  if (freeInMs === undefined) {
    return 'It is free when the transaction that covers the lease has ended: until then that can still commit.'
  }
  return freeInMs === 0
    ? 'It is free now. The old holder may still run: only the fencing token keeps its writes out.'
    : `It is free when the holder releases it, in ${formatDuration(freeInMs)} at the latest.`
}
