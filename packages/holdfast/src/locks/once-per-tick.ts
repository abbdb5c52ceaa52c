/** `oncePerTick`: of the replicas that a timer starts at about the same time, one works. */
import { LockTimeoutError } from '../errors.js'
import type { Lease } from '../lease/hold/lease.js'
import type { KnownKeys } from '../options/known-keys.js'
import type { HolderInfo } from '../store/contract.js'
import type { Lockable } from './lock.js'

export interface TickOptions {
  /**
   * How long the lock stays taken after the grant, in milliseconds: longer than the clocks of the
   * replicas differ, shorter than the time between two ticks.
   */
  readonly atLeastMs: number
  /**
   * The longest time that the work may take, in milliseconds: the lease is not renewed. Default:
   * the `ttlMs` of the client, or a little more than `atLeastMs` if that is longer.
   */
  readonly ttlMs?: number
}

export const TICK_KEYS: KnownKeys<TickOptions> = { atLeastMs: 1, ttlMs: 1 }

/** What `oncePerTick` did. `holder` is missing where the store cannot show it, or it has gone. */
export type TickResult<T> =
  | { readonly ran: true; readonly value: T }
  | { readonly ran: false; readonly holder: HolderInfo | undefined }

/** Runs `work` unless the lock is taken. Never waits. */
export async function oncePerTick<T>(
  lock: Lockable,
  holders: () => Promise<readonly HolderInfo[]>,
  work: (lease: Lease) => T | PromiseLike<T>,
  atLeastMs: number,
): Promise<TickResult<T>> {
  let hasBegun = false
  const begin = (lease: Lease): T | PromiseLike<T> => {
    hasBegun = true
    return work(lease)
  }
  try {
    return { ran: true, value: await lock.run(begin, { waitMs: 0, atLeastMs }) }
  } catch (error) {
    if (hasBegun || !(error instanceof LockTimeoutError)) throw error
    // The lock was busy in any case: an answer about the holder is a bonus.
    const [holder] = await holders().catch(() => [])
    return { ran: false, holder }
  }
}
