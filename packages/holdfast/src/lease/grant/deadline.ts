/**
 * The deadline of a lease, as plain arithmetic.
 *
 * The deadline is `base + TTL - margin` on the monotonic clock. `base` is a moment at which the
 * store had certainly not yet started the TTL. It is the time just before the granted or renewed
 * request left.
 */
import { marginMs } from '../../clock/margin.js'
import type { Granted } from '../../store/contract.js'

/** How long before the end of a lease the end is announced, since timers fire late. */
export const ANNOUNCE_EARLY_MS = 2

/** Returns the deadline of a lease whose TTL started no earlier than `baseMs`. */
export function deadlineFrom(baseMs: number, ttlMs: number): number {
  return baseMs + ttlMs - marginMs(ttlMs)
}

/**
 * The base of a grant that an attempt found. A message that reports an existing grant never
 * restarts the clock. The later of two safe moments counts. One is the last request that was still
 * answered "waiting", since the grant came after it. The other follows from the remaining time that
 * the store reported.
 */
export function foundGrantBaseMs(
  granted: Granted,
  sentMs: number,
  lastWaitingSentMs: number | undefined,
): number {
  const byRemaining = sentMs + granted.remainingMs - granted.ttlMs
  return lastWaitingSentMs === undefined ? byRemaining : Math.max(byRemaining, lastWaitingSentMs)
}

/**
 * Whether wall clock and monotonic clock have parted between two readings of the distance between
 * them.
 */
export function clocksParted(offsetMs: number, earlierMs: number, ttlMs: number): boolean {
  return Math.abs(offsetMs - earlierMs) > marginMs(ttlMs)
}
