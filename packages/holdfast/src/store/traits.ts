import type { LockKind } from './claim.js'

/** The longest TTL that a store outside this process grants: a year. */
export const LONGEST_TTL_MS = 366 * 24 * 3_600_000

/** The pause between two attempts, for a store without a reason to poll more or less often. */
export const DEFAULT_POLL_RANGE_MS: Traits['pollRangeMs'] = [50, 250]

/** What a store can do and promises. The runtime refuses the rest with `UnsupportedLockError`. */
export interface Traits {
  /** Every grant has a larger token than each earlier grant of that lock. */
  readonly fencing: true
  /** A grant can reserve several tokens, for hand-offs inside one process. */
  readonly tokenBlocks: boolean
  /** The kinds of lock that the store grants. */
  readonly kinds: readonly LockKind[]
  /** Waiters queue in the store, and no claim overtakes another there. */
  readonly fair: boolean
  /** How a waiter learns of its grant. `poll`: only by attempting again. */
  readonly wakeUp: 'push' | 'poll'
  /** The clock that ends a lease. */
  readonly expiry: 'process' | 'machine' | 'server' | 'session'
  /** A lease can pass to another process: the store has `adopt`. */
  readonly adopt: boolean
  /**
   * The requests of one client for a lock are decided in the order in which they left, unless a
   * connection broke. An attempt then leaves behind a release that is not answered yet. Default
   * false.
   */
  readonly ordered?: boolean
  /**
   * The store keeps no note of a claim that a steal has removed: the claim looks expired. Default
   * false: its next renewal or attempt is answered with the steal and its reason.
   */
  readonly forgetsSteals?: boolean
  /**
   * The pause between two attempts without a queue or a wake-up: [shortest, longest]. Waiters in a
   * queue that nothing wakes pause no longer than a heartbeat.
   */
  readonly pollRangeMs: readonly [number, number]
  /** The longest time between two signs of life of a waiter, in milliseconds. Default 1 000. */
  readonly heartbeatMs?: number
  /** The TTLs that the store grants unchanged, in milliseconds: [shortest, longest]. */
  readonly ttlRangeMs: readonly [number, number]
}
