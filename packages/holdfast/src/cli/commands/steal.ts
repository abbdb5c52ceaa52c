/** `holdfast steal`: ends the grants of a lock, or one claim, on purpose and with a reason. */
import { hostname, userInfo } from 'node:os'
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
import { withLocks } from '../stores/with-locks.js'
import type { Command } from './command.js'

const OPTIONS = {
  ...STORE_OPTIONS,
  confirm: { type: 'string', value: 'NAME', help: 'The name of the lock once more.' },
  reason: {
    type: 'string',
    value: 'TEXT',
    help: 'Why. The holder and inspect show it; with --now only the holder on etcd shows it.',
  },
  now: {
    type: 'boolean',
    help: 'Free the lock at once, under running code. Then only the fencing token protects what the lock protected.',
  },
  ...NAMESPACE_OPTION,
  ...OUTPUT_OPTIONS,
} as const satisfies OptionTable

/** How long the store refuses a stolen claim. No request stays in flight for that long. */
const REFUSED_MS = 3_600_000

export const command: Command = {
  help: {
    usage: 'holdfast steal NAME [CLAIM] --confirm NAME --reason TEXT [--now] [options]',
    about: `Ends the grants of the lock NAME. The store refuses their renewals from now on. The lock is free when the
holders let go, or when their leases end. This frees the lock for the waiters; it does not acquire it.

With CLAIM, a claim id of inspect, it ends that claim alone, of a holder or a waiter, and at once, under running
code. A \`holdfast run\` notices at its next renewal and ends its command.

Exits with 66 when the lock has no holder, or the claim is not there.`,
    options: OPTIONS,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    const { values } = parsed
    if (values.help === true) return printHelp(this.help)
    const [operand, claimId, extra] = operandsOf(parsed)
    if (operand === undefined || extra !== undefined)
      throw new UsageError('Write: holdfast steal NAME [CLAIM] --confirm NAME --reason TEXT')
    if (claimId !== undefined && !/^[\w.-]{1,64}$/.test(claimId))
      throw new UsageError(`${JSON.stringify(claimId)} is not a claim id.`)
    const reason = checkConsent(operand, values.confirm, values.reason)
    const name = inNamespace(values.namespace, operand)
    const by = `${userName()}@${hostname()}`
    return withLocks(values, async (locks, location) => {
      const answer =
        claimId === undefined
          ? await stealLock(locks, name, { now: values.now ?? false, reason: `${by}: ${reason}` })
          : await stealClaim(locks, name, claimId)
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

async function stealClaim(locks: Locks, name: string, claimId: string): Promise<Answer> {
  const { store } = locks
  // `mutex` checks the name.
  const { name: lock } = locks.mutex(name)
  const outcome = await store.withdraw({ lock, id: claimId, ttlMs: REFUSED_MS })
  if (outcome === 'absent') {
    throw notHeld(
      name,
      `The claim ${claimId} neither holds "${name}" nor waits for it: it was released, or its lease ended.`,
    )
  }
  return {
    json: { claimId, outcome },
    text:
      outcome === 'released'
        ? `Took "${name}" from the claim ${claimId}`
        : `Took the claim ${claimId} out of the queue of "${name}"`,
    then: '',
  }
}

/** In a container a user may have only a number. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
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
