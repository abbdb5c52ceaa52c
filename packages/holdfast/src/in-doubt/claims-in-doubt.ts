/**
 * Claims in doubt: a request of theirs has an unknown outcome, and may still arrive. Each is
 * remembered for a time. When there are too many to remember, every claim is in doubt for as long
 * as one of those may be that were left out.
 */
import type { Clock } from '../clock/clock.js'

/** How many claims are remembered. */
export const MOST_IN_DOUBT = 10_000

export class ClaimsInDoubt {
  readonly #clock: Clock
  /** Until when, by the key of the claim. The oldest stand first. */
  readonly #untilMs = new Map<string, number>()
  /** Until then a claim that was not remembered may be in doubt. */
  #leftOutUntilMs = -Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @param forMs for how long a request of the claim may still arrive */
  add(key: string, forMs: number): void {
    const nowMs = this.#clock.monotonicMs()
    const untilMs = Math.max(nowMs + forMs, this.#untilMs.get(key) ?? -Infinity)
    this.#untilMs.delete(key)
    this.#forgetOld(nowMs)
    if (this.#untilMs.size < MOST_IN_DOUBT) this.#untilMs.set(key, untilMs)
    else this.#leftOutUntilMs = Math.max(this.#leftOutUntilMs, untilMs)
  }

  has(key: string): boolean {
    if (this.#untilMs.size === 0 && this.#leftOutUntilMs === -Infinity) return false
    const nowMs = this.#clock.monotonicMs()
    this.#forgetOld(nowMs)
    return nowMs < this.#leftOutUntilMs || nowMs < (this.#untilMs.get(key) ?? -Infinity)
  }

  /** The outcome is known: no request of the claim can do anything any more. */
  delete(key: string): void {
    this.#untilMs.delete(key)
  }

  /**
   * One that is in doubt for long may keep others behind it, which does not matter: each has its
   * own time.
   */
  #forgetOld(nowMs: number): void {
    if (nowMs >= this.#leftOutUntilMs) this.#leftOutUntilMs = -Infinity
    for (const [key, untilMs] of this.#untilMs) {
      if (nowMs < untilMs) return
      this.#untilMs.delete(key)
    }
  }
}
