/** One lock, as the console saw it last. */
import type { HolderInfo, LockInfo } from '../../store/contract.js'

/** A holder whose lease has less than this part of its TTL left was not renewed in time. */
const LATE_BELOW = 0.5
/** A renewal starts a new TTL: what is held for longer than this part beyond it was renewed. */
const RENEWED_BEYOND = 0.2

/** A lock, and one of its holders. */
export interface HeldBy {
  readonly known: KnownLock
  readonly holder: HolderInfo
}

export class KnownLock {
  readonly info: LockInfo
  /** When the store answered, by the monotonic clock. */
  readonly seenMs: number
  readonly isElection: boolean
  /** Since when the first waiter waits, by the monotonic clock. Infinity without one. */
  readonly waitingSinceMs: number
  /** Since when the first holder holds, likewise. */
  readonly heldSinceMs: number
  /** When the first lease ends unless it is renewed, likewise. */
  readonly endsMs: number
  /** How many callers wait, those behind a waiter of the same process included. */
  readonly waiterCount: number
  readonly lateHolders: readonly HolderInfo[]

  constructor(info: LockInfo, seenMs: number) {
    const { holders, waiters } = info
    this.info = info
    this.seenMs = seenMs
    this.isElection = [...holders, ...waiters].some(({ owner }) => owner.election === true)
    // Candidates wait for weeks, and nothing is wrong with that.
    const waitedMs = this.isElection ? -Infinity : most(waiters, ({ waitedMs }) => waitedMs)
    this.waitingSinceMs = seenMs - waitedMs
    this.heldSinceMs = seenMs - most(holders, ({ heldMs }) => heldMs)
    this.endsMs = seenMs - most(holders, ({ remainingMs }) => -remainingMs)
    this.waiterCount = waiters.reduce((sum, { owner }) => sum + 1 + (owner.localWaiters ?? 0), 0)
    this.lateHolders = holders.filter(isLate)
  }

  get lock(): string {
    return this.info.lock
  }

  /** Whether each look asks for it: something waits, or is wrong. */
  get isHot(): boolean {
    const { holders, waiters } = this.info
    return (
      waiters.length > 0 ||
      this.lateHolders.length > 0 ||
      holders.some(({ owner, stolen }) => stolen || owner.waitsFor !== undefined)
    )
  }
}

/** Whether a lease was renewed before, and its renewal is overdue. */
export function isLate({ heldMs, remainingMs, ttlMs, stolen }: HolderInfo): boolean {
  if (ttlMs === undefined || stolen || remainingMs >= ttlMs * LATE_BELOW) return false
  const renewedAfterMs = heldMs - (ttlMs - remainingMs)
  return renewedAfterMs > ttlMs * RENEWED_BEYOND
}

function most<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((largest, item) => Math.max(largest, value(item)), -Infinity)
}
