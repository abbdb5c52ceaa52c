/**
 * Aborts the signal of a lease some time before the lease ends: `abortBeforeMs`.
 *
 * The timer is set when the signal is first read. A renewal does not move it: when it fires, the
 * time is compared with the deadline of then.
 */
import type { Clock } from '../clock/clock.js'
import { DeadlineTimer } from './monotonic-timer.js'

/** Timers fire late and never early. */
const EARLY_MS = 2

export interface EarlyAbortTerms {
  readonly clock: Clock
  /** How long before the end. */
  readonly beforeMs: () => number
  /** Returns when the lease ends unless renewed, by the monotonic clock. */
  readonly endMs: () => number
  readonly abort: (remainingMs: number) => void
}

export class EarlyAbort {
  readonly #terms: EarlyAbortTerms
  #timer: DeadlineTimer | undefined
  #isOver = false

  constructor(terms: EarlyAbortTerms) {
    this.#terms = terms
  }

  /** Begins to watch the end, or watches an end that has come nearer. */
  watch(): void {
    if (this.#isOver) return
    this.#timer?.cancel()
    const { clock, beforeMs, endMs, abort } = this.#terms
    const atMs = endMs() - beforeMs() - EARLY_MS
    const nowMs = clock.monotonicMs()
    if (nowMs < atMs) {
      this.#timer = new DeadlineTimer(clock, atMs, () => this.watch())
      return
    }
    this.#isOver = true
    abort(Math.max(0, endMs() - nowMs))
  }

  cancel(): void {
    this.#isOver = true
    this.#timer?.cancel()
  }
}
