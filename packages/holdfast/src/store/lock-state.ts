/** The state of one lock, as the grant rule keeps it. */
import { CAPACITY_ALL, type LockKind, type Owner, type WithdrawOutcome } from './contract.js'

export interface Holder {
  readonly id: string
  owner: Owner
  weight: number
  readonly token: number
  readonly tokens: number
  readonly grantedMs: number
  /** The TTL of the latest grant or renewal. */
  ttlMs: number
  expiresMs: number
  stolen: boolean
  stealReason?: string
}

export interface Waiter {
  readonly id: string
  owner: Owner
  readonly weight: number
  readonly ttlMs: number
  readonly heartbeatMs: number
  tokens: number
  readonly sinceMs: number
  seenMs: number
}

export interface Tombstone {
  readonly untilMs: number
  readonly outcome: WithdrawOutcome
  /** Present when a steal ended the claim. */
  readonly steal?: Steal | undefined
}

/** Why a claim is no more. */
export interface Steal {
  readonly reason: string | undefined
}

/** All that a store keeps about one lock. The order of insertion into `waiters` is the queue. */
export interface LockState {
  /** The name of the lock, for errors. */
  readonly lock: string
  kind: LockKind
  capacity: number
  lastToken: number
  heldWeight: number
  /** No lease ends before this time. It may lie too early after a renewal, which costs a check. */
  nextExpiryMs: number
  /** The number of the last claim that joined the queue since the lock was idle. */
  lastQueueNumber: number
  readonly holders: Map<string, Holder>
  readonly waiters: Map<string, Waiter>
  readonly tombstones: Map<string, Tombstone>
}

/** What one atomic step works with, and what it did besides its own result. */
export interface RuleStep {
  /** The time on the clock of the store. */
  nowMs: number
  /** The smallest next token: the store's clock in microseconds, or a counter of all locks. */
  tokenFloor: number
  /** The largest number of tombstones that a lock keeps. */
  tombstoneLimit: number
  /** The waiters that this step made holders, in order. The store wakes them. */
  readonly promoted: Holder[]
}

export function newLockState(lock: string): LockState {
  return {
    lock,
    kind: 'mutex',
    capacity: CAPACITY_ALL,
    lastToken: 0,
    heldWeight: 0,
    nextExpiryMs: Infinity,
    lastQueueNumber: 0,
    holders: new Map(),
    waiters: new Map(),
    tombstones: new Map(),
  }
}

/** Returns whether only tombstones are left. */
export function isIdle(state: LockState): boolean {
  return state.holders.size === 0 && state.waiters.size === 0
}
