/** `oncePerTick`: of the replicas that a timer starts at about the same time, one works. */
import { LockTimeoutError } from '../errors.js'
import type { Client } from '../lease/client.js'
import type { Lease } from '../lease/hold/lease.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import { checkDuration } from '../options/lock-options.js'
import type { HolderInfo } from '../store/contract.js'
import { assertWork } from './at-least.js'
import { mutex } from './mutex.js'

/** The options of `locks.oncePerTick`. */
export interface TickOptions {
  /**
   * How long the lock stays taken after the grant, in milliseconds. It must be longer than the
   * clocks of the replicas differ, and shorter than the time between two ticks.
   */
  readonly atLeastMs: number
  /**
   * The longest time that the work may take, in milliseconds: the lease is not renewed. Default:
   * the `ttlMs` of the client, or a little more than `atLeastMs` if that is longer.
   */
  readonly ttlMs?: number | undefined
}

const TICK_KEYS: KnownKeys<TickOptions> = { atLeastMs: 1, ttlMs: 1 }

/** What `oncePerTick` did. `holder` is missing where the store cannot show it, or it has gone. */
export type TickResult<T> =
  | { readonly ran: true; readonly value: T }
  | { readonly ran: false; readonly holder: HolderInfo | undefined }

/** Runs `work` unless the lock is taken. Never waits. */
export async function oncePerTick<T>(
  client: Client,
  name: string,
  holders: () => Promise<readonly HolderInfo[]>,
  work: (lease: Lease) => T | PromiseLike<T>,
  options: TickOptions,
): Promise<TickResult<T>> {
  checkKeys('oncePerTick', options, TICK_KEYS)
  const { atLeastMs, ...rest } = options
  checkDuration('atLeastMs', atLeastMs, { min: 1 })
  assertWork('oncePerTick', name, work)
  let hasBegun = false
  const begin = (lease: Lease): T | PromiseLike<T> => {
    hasBegun = true
    return work(lease)
  }
  try {
    return {
      ran: true,
      value: await mutex(client, name, rest).run(begin, { waitMs: 0, atLeastMs }),
    }
  } catch (error) {
    if (hasBegun || !(error instanceof LockTimeoutError)) throw error
    // The lock was busy in any case: an answer about the holder is a bonus.
    const [holder] = await holders().catch(() => [])
    return { ran: false, holder }
  }
}
