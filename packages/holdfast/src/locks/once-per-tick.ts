/** `oncePerTick`: of the replicas that a timer starts at about the same time, one works. */
import { LockTimeoutError, LockUsageError, type LockErrorDetails } from '../errors.js'
import type { Client } from '../lease/client.js'
import type { HeldLease } from '../lease/hold/held-lease.js'
import type { Lease } from '../lease/hold/lease.js'
import { describe } from '../options/describe.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import { checkDuration } from '../options/lock-options.js'
import type { HolderInfo } from '../store/contract.js'
import { assertOutside, assertWork } from './at-least.js'
import type { BasicLock } from './lock.js'
import { mutex } from './mutex.js'
import { Slot } from './take-slot.js'

/** The options of `locks.oncePerTick`. */
export interface TickOptions {
  /**
   * How long the slot stays taken, in milliseconds: longer than the clocks of the replicas may
   * differ. A call that comes later than that after its slot was due does not run. Without `slot`
   * the lock stays taken that long after the grant, and this must be shorter than the time between
   * two ticks.
   */
  readonly atLeastMs: number
  /**
   * The time at which the run was due, which is the same on all replicas: a Date or milliseconds.
   * Without it, the first replica that comes while the lock is free works.
   */
  readonly slot?: Date | number | undefined
  /**
   * What becomes of a slot while the run of an earlier one still works: `skip` leaves it out,
   * `queue` runs it afterwards. Needs `slot`. Default `skip`.
   */
  readonly overlap?: 'skip' | 'queue' | undefined
  /**
   * With `slot`: the TTL of the lease, which is renewed while the run works. Default: the `ttlMs`
   * of the client. Without `slot`: the longest time that the work may take, since that lease is not
   * renewed. Default: the `ttlMs` of the client, or a little more than `atLeastMs` if that is
   * longer. In milliseconds.
   */
  readonly ttlMs?: number | undefined
}

const TICK_KEYS: KnownKeys<TickOptions> = { atLeastMs: 1, slot: 1, overlap: 1, ttlMs: 1 }

/**
 * What `oncePerTick` did. It did not run because
 * - `taken`: another replica has taken the slot (without `slot`: the lock);
 * - `still-running`: the run of an earlier slot still works, so this slot is left out;
 * - `late`: the slot was due more than `atLeastMs` ago, and another replica may have run it.
 *
 * `holder` is the client that has the lock; undefined when the store does not show it, when it has
 * let go meanwhile, and for `late`.
 */
export type TickResult<T> =
  | { readonly ran: true; readonly value: T }
  | {
      readonly ran: false
      readonly reason: 'taken' | 'still-running' | 'late'
      readonly holder: HolderInfo | undefined
    }

type NotRun = Extract<TickResult<unknown>, { ran: false }>
type Work<T> = (lease: Lease) => T | PromiseLike<T>
type HoldersOf = (lock: string) => Promise<readonly HolderInfo[]>

/** Runs `work` unless another replica does or did. Waits only with `overlap: 'queue'`. */
export async function oncePerTick<T>(
  client: Client,
  name: string,
  holdersOf: HoldersOf,
  work: Work<T>,
  options: TickOptions,
): Promise<TickResult<T>> {
  checkKeys('oncePerTick', options, TICK_KEYS)
  const { atLeastMs, slot, overlap, ...terms } = options
  checkDuration('atLeastMs', atLeastMs, { min: 1 })
  checkOverlap(overlap, { lock: name })
  assertWork('oncePerTick', name, work)
  assertOutside(client, name, `oncePerTick of "${name}"`)

  /** The lock was busy in any case: an answer about the holder is a bonus. */
  async function notRun(reason: NotRun['reason'], lock: string): Promise<NotRun> {
    const [holder] = await holdersOf(lock).catch(() => [])
    return { ran: false, reason, holder }
  }

  if (slot === undefined) {
    if (overlap !== undefined) throw needsSlot(name)
    const lock = mutex(client, name, terms)
    const run = await runUnless(work, (begin) => lock.run(begin, { waitMs: 0, atLeastMs }))
    return run ?? notRun('taken', name)
  }
  // Both check what they are given before either lock is taken.
  const cover = mutex(client, name, { ...terms, renew: true, reentrant: false, fairness: 'fifo' })
  const due = new Slot(client, name, slot, atLeastMs)
  const slotLease = await due.take()
  if (slotLease === 'taken') return notRun('taken', due.name)
  if (slotLease === 'late') return { ran: false, reason: 'late', holder: undefined }
  const run = await runCovered(cover, due, slotLease, work, overlap === 'queue')
  return run ?? notRun('still-running', name)
}

function needsSlot(lock: string): LockUsageError {
  return new LockUsageError(
    `overlap of oncePerTick "${lock}" needs the slot as well: the time at which the run was due.`,
    { lock },
  )
}

/** @throws LockUsageError when there is no such choice. */
export function checkOverlap(overlap: unknown, details?: LockErrorDetails): void {
  if (overlap === undefined || overlap === 'skip' || overlap === 'queue') return
  throw new LockUsageError(`overlap must be 'skip' or 'queue', not ${describe(overlap)}.`, details)
}

/**
 * Runs `work` under the lock that covers a run, for a slot that was taken. Resolves to undefined
 * when an earlier run still works.
 */
async function runCovered<T>(
  cover: BasicLock,
  due: Slot,
  slotLease: HeldLease,
  work: Work<T>,
  waits: boolean,
): Promise<{ readonly ran: true; readonly value: T } | undefined> {
  // The wait may be longer than the lease. The release leaves the slot taken.
  if (waits) await slotLease.releaseQuietly()
  let hasBegun = false
  try {
    const run = await runUnless(work, (begin) =>
      cover.run(
        async (lease) => {
          hasBegun = true
          await slotLease.releaseQuietly()
          // The request took time: `enter` checks again that the lease is held.
          return lease.enter(begin)
        },
        waits ? {} : { waitMs: 0 },
      ),
    )
    await slotLease.releaseQuietly()
    return run
  } catch (error) {
    if (!hasBegun) await due.free(slotLease)
    throw error
  }
}

/** Resolves to undefined when the lock is busy; a timeout of the work itself is an error. */
async function runUnless<T>(
  work: Work<T>,
  start: (begin: Work<T>) => Promise<T>,
): Promise<{ readonly ran: true; readonly value: T } | undefined> {
  let hasBegun = false
  const begin: Work<T> = (lease) => {
    hasBegun = true
    return work(lease)
  }
  try {
    return { ran: true, value: await start(begin) }
  } catch (error) {
    if (hasBegun || !(error instanceof LockTimeoutError)) throw error
    return undefined
  }
}
