/**
 * How far the wall clock of a process may part from its monotonic clock before a lease is in doubt.
 *
 * A sleep of the machine parts them, which the monotonic clock does not count, and so does a step
 * of the wall clock. The store's answer shows which it was. A wall clock that stands still, or runs
 * at another speed, parts from the other one all the time. A test with a mocked `Date` has such a
 * clock, and so may a broken virtual machine. After a few doubts in a row the distance becomes part
 * of the arithmetic. A lease then counts as held only while it would last for that much longer.
 */
import { marginMs } from '../../clock/margin.js'

/** Up to this many doubts in a row are taken for sleeps or steps. */
const DOUBTS_IN_A_ROW = 2
/** After this time without a doubt the next one is the first again. */
const CALM_MS = 60_000
/** Leases that see the same step differ by less in what they read. */
const SAME_STEP_MS = 2
/** The largest distance, as a share of the TTL: the next renewal is due before. */
const LARGEST_SHARE = 0.5

export class ClockTrust {
  #doubts = 0
  #doubtMs = -Infinity
  #offsetMs = Number.NaN

  /**
   * Notes the distance between the clocks that an answer of the store confirmed.
   * @param isParted whether it had changed by more than the margin since the answer before
   */
  noteAnswer(isParted: boolean, nowMs: number, offsetMs: number): void {
    if (nowMs - this.#doubtMs > CALM_MS) this.#doubts = 0
    if (!isParted || Math.abs(offsetMs - this.#offsetMs) <= SAME_STEP_MS) return
    this.#doubts += 1
    this.#doubtMs = nowMs
    this.#offsetMs = offsetMs
  }

  /** By how much more than the margin the clocks may part. */
  slackMs(ttlMs: number): number {
    const more = this.#doubts - DOUBTS_IN_A_ROW
    return more <= 0 ? 0 : Math.min(LARGEST_SHARE * ttlMs, marginMs(ttlMs) * 4 ** more)
  }
}
