/** A timer for a moment on the monotonic clock. */
import type { Clock, Timer } from './clock.js'

/** Calls `fire` at `atMs`. Does not keep the process alive. */
export class DeadlineTimer {
  readonly #clock: Clock
  readonly #atMs: number
  readonly #fire: () => void
  #timer: Timer

  constructor(clock: Clock, atMs: number, fire: () => void) {
    this.#clock = clock
    this.#atMs = atMs
    this.#fire = fire
    this.#timer = this.#arm()
  }

  cancel(): void {
    this.#timer.cancel()
  }

  /** A clock may clamp a long timer, so the time is compared when it fires. */
  #arm(): Timer {
    const leftMs = Math.max(0, this.#atMs - this.#clock.monotonicMs())
    return this.#clock.timer(leftMs, () => this.#check(), true)
  }

  #check(): void {
    if (this.#clock.monotonicMs() < this.#atMs) this.#timer = this.#arm()
    else this.#fire()
  }
}
