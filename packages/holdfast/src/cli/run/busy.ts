/** Explains why a wait ended without the lock: the lock is busy, or the store does not answer. */
import { isLockError, type Locks } from '../../index.js'
import { formatDuration } from '../args/duration.js'
import { CliError } from '../cli-error.js'
import { heldBy, typeOf } from '../output/holders.js'
import { withTimeout } from '../../clock/with-timeout.js'
import { lockOf } from './lock-of.js'
import type { LockSettings, Sharing } from './settings.js'
import type { StoreContact } from './store-contact.js'
import { lookUpLock } from './waiting.js'

/** Longer than a slow store takes. The user's own limit has passed by then. */
const LOOK_MS = 1_500

/**
 * Returns the error for an operator. A wait also ends where no attempt was ever answered, so this
 * asks the store: only a store that answers can report a busy lock.
 */
export async function explainFailure(
  cause: unknown,
  locks: Locks,
  settings: LockSettings,
  contact: StoreContact,
): Promise<unknown> {
  const { code } = cause as { code?: unknown }
  if (code === 'LOCK_MISMATCH') return mismatch(cause, locks, settings)
  if (code === 'DEADLOCK') return deadlock(cause as Error)
  if (code !== 'LOCK_TIMEOUT') return cause
  const { name } = settings
  // The time is over, and another request would only take longer.
  if (!contact.hasAnswered) return contact.failure ?? noAnswer(settings)
  try {
    const holder = await withinTime(describeHolder(locks, settings), settings)
    return new CliError(`Lock "${name}" is busy, ${holder}. ${advice(settings)}`, 'LOCK_TIMEOUT', {
      cause,
    })
  } catch (error) {
    return contact.failure ?? error
  }
}

/** A holder that was replaced ends all the same, and nothing runs in its place. */
function advice({ waitMs, replace }: LockSettings): string {
  if (replace) {
    return (
      `--replace has ended the holder of the lock, which did not let go within ${formatDuration(waitMs)}. ` +
      'That run still ends, at its next renewal, and no other run takes its place. ' +
      'Give --wait a third of its --ttl and the time that its command needs to end.'
    )
  }
  return waitMs === 0 ? 'Wait for it with --wait DUR.' : 'Wait longer, or try again later.'
}

/** The library advises programs, which can take several locks together. */
function deadlock(cause: Error): CliError {
  const cycle = cause.message.replace(/ Take these locks .*$/, '')
  const advice = 'Start runs inside of runs in the same order of locks in all jobs.'
  return new CliError(`${cycle} ${advice}`, 'DEADLOCK', { cause })
}

/** The library names kinds and capacities; this names the options that differ. */
async function mismatch(cause: unknown, locks: Locks, settings: LockSettings): Promise<unknown> {
  const { name, sharing } = settings
  const info = await lookUpLock(locks, name).catch(() => undefined)
  const inUse =
    info === undefined
      ? 'in another way'
      : typeOf(info) === 'permits'
        ? `with --permits ${info.capacity}`
        : typeOf(info) === 'exclusive'
          ? 'as an exclusive lock'
          : 'with --shared'
  return new CliError(
    `Lock "${name}" is in use ${inUse}, and this run asks for it ${sharingText(sharing)}. ` +
      'Give all runs of one lock the same --shared or --permits, or use another name.',
    'LOCK_MISMATCH',
    { cause },
  )
}

function sharingText(sharing: Sharing): string {
  if (sharing.kind === 'permits') return `with --permits ${sharing.permits}`
  return sharing.kind === 'shared' ? 'with --shared' : 'as an exclusive lock'
}

async function describeHolder(locks: Locks, { name, sharing }: LockSettings): Promise<string> {
  try {
    return heldBy(await lookUpLock(locks, name))
  } catch (error) {
    if (isLockError(error) && error.code === 'STORE_UNAVAILABLE') throw error
    // This answer of the library needs no request. An attempt shows whether the store answers.
    if (isLockError(error) && error.code === 'UNSUPPORTED') await attemptOnce(locks, name, sharing)
    // The store answers and does not list its holders, or not for this user. They are an extra.
    return 'held by a program that the store does not name'
  }
}

/** The time of the command is over, so a lock that has become free since is released. */
async function attemptOnce(locks: Locks, name: string, sharing: Sharing): Promise<void> {
  const lease = await lockOf(locks, name, sharing).tryAcquire()
  await lease?.release()
}

/** A store that hangs counts as unreachable. */
function withinTime<T>(answer: Promise<T>, settings: LockSettings): Promise<T> {
  return withTimeout(answer, LOOK_MS, () => noAnswer(settings))
}

export function noAnswer({ name }: LockSettings): CliError {
  return new CliError(
    `The store does not answer, so the holder of "${name}" is unknown; the lock may be free. ` +
      'Check the service and the network (holdfast doctor), and try again.',
    'STORE_UNAVAILABLE',
  )
}
