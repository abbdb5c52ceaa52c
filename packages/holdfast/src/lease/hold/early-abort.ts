/**
 * Aborts the signal of a lease some time before the lease ends: `abortBeforeMs`.
 *
 * The timer is set when the signal is first read. A renewal does not move it: when it fires, the
 * time is compared with the deadline of then.
 */
import type { Clock } from '../../clock/clock.js'
import { ANNOUNCE_EARLY_MS } from '../grant/deadline.js'
import { DeadlineTimer } from '../../clock/deadline-timer.js'

export class EarlyAbort {
  readonly #clock: Clock
  readonly #timeLeftMs: (nowMs: number) => number
  readonly #abort: () => void
  #timer: DeadlineTimer | undefined
  #isOver = false

  /** @param timeLeftMs returns how long it is until the signal should abort */
  constructor(clock: Clock, timeLeftMs: (nowMs: number) => number, abort: () => void) {
    this.#clock = clock
    this.#timeLeftMs = timeLeftMs
    this.#abort = abort
  }

  /** Begins to watch the end, or watches an end that has come nearer. */
  watch(): void {
    if (this.#isOver) return
    this.#timer?.cancel()
    const nowMs = this.#clock.monotonicMs()
    const leftMs = this.#timeLeftMs(nowMs) - ANNOUNCE_EARLY_MS
    this.#isOver = leftMs <= 0
    if (this.#isOver) this.#abort()
    else this.#timer = new DeadlineTimer(this.#clock, nowMs + leftMs, () => this.watch())
  }

  cancel(): void {
    this.#isOver = true
    this.#timer?.cancel()
  }
}
