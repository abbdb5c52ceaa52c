/** What a wait that ended without the lock is told as: busy, or a store that nobody reaches. */
import { isLockError, type Locks } from 'holdfast'
import { CliError } from '../cli-error.js'
import { EXIT } from '../exit-codes.js'
import { heldBy } from '../output/holders.js'
import { withTimeout } from '../timers.js'
import { lockOf } from './lock-of.js'
import type { RunSettings, Sharing } from './settings.js'
import type { StoreContact } from './store-contact.js'
import { lookUpLock } from './waiting.js'

/** Longer than a store takes that is merely slow. The caller's own limit has passed by then. */
const LOOK_MS = 1_500

/**
 * The library speaks of `waitMs`; whoever stands at a shell wants to know who holds the lock. A
 * wait also runs out where no attempt was ever answered, so the store is asked: only one that
 * answers may be told as a lock that is busy.
 */
export async function asBusy(
  cause: unknown,
  locks: Locks,
  settings: RunSettings,
  contact: StoreContact,
): Promise<unknown> {
  if ((cause as { code?: unknown }).code !== 'LOCK_TIMEOUT') return cause
  const { name, waitMs } = settings
  try {
    const holder = await withinTime(holderInWords(locks, settings), settings)
    const advice = waitMs === 0 ? 'Wait for it with --wait DUR' : 'Wait longer, or try again later'
    return new CliError(
      `Lock "${name}" is busy, ${holder}. ${advice}.`,
      EXIT.busy,
      'LOCK_TIMEOUT',
      { cause },
    )
  } catch (error) {
    return contact.failure ?? error
  }
}

async function holderInWords(locks: Locks, { name, sharing }: RunSettings): Promise<string> {
  try {
    return heldBy(await lookUpLock(locks, name))
  } catch (error) {
    if (isLockError(error) && error.code === 'STORE_UNAVAILABLE') throw error
    // Such a store was not asked at all: that it has no list is known without it. An attempt shows
    // whether it answers.
    if (isLockError(error) && error.code === 'UNSUPPORTED') await attemptOnce(locks, name, sharing)
    // The store is there, and does not list its holders, or not for us. Who they are is an extra.
    return 'held by somebody whom the store does not name'
  }
}

/** The command's time is over, so a lock that has become free since is given back. */
async function attemptOnce(locks: Locks, name: string, sharing: Sharing): Promise<void> {
  const lease = await lockOf(locks, name, sharing).tryAcquire()
  await lease?.release()
}

/** A store that hangs is as far away as one that refuses. */
function withinTime<T>(answer: Promise<T>, settings: RunSettings): Promise<T> {
  return withTimeout(answer, LOOK_MS, () => noAnswer(settings))
}

export function noAnswer({ name }: RunSettings): CliError {
  return new CliError(
    `The store does not answer, so nobody can say who holds the lock "${name}"; it may be free. ` +
      'Check the service and the network (holdfast doctor), and try again.',
    EXIT.storeUnreachable,
    'STORE_UNAVAILABLE',
  )
}
