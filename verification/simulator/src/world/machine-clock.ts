/**
 * The clocks of one machine: a monotonic one with an offset and a rate of its own, and a wall clock
 * that can be set. While the machine sleeps the monotonic clock stands still and the wall clock
 * runs, as on Linux.
 */
import type { Agenda } from './agenda.js'

const EPOCH_MS = 1_700_000_000_000

export interface ClockErrors {
  /** What the monotonic clock says at the beginning. */
  readonly startMs: number
  /** How far the wall clock is off at the beginning. */
  readonly wallOffMs: number
  /** Seconds that pass on this clock in one true second. */
  readonly rate: number
}

export class MachineClock {
  readonly #agenda: Agenda
  readonly #rate: number
  #baseMs: number
  #sinceMs: number
  #asleep = false
  #wallOffMs: number

  constructor(agenda: Agenda, errors: ClockErrors) {
    this.#agenda = agenda
    this.#rate = errors.rate
    this.#baseMs = errors.startMs
    this.#sinceMs = agenda.nowMs
    this.#wallOffMs = EPOCH_MS + errors.wallOffMs - errors.startMs
  }

  monotonicMs(): number {
    if (this.#asleep) return this.#baseMs
    return this.#baseMs + (this.#agenda.nowMs - this.#sinceMs) * this.#rate
  }

  wallMs(): number {
    const sleptMs = this.#asleep ? (this.#agenda.nowMs - this.#sinceMs) * this.#rate : 0
    return this.#wallOffMs + this.monotonicMs() + sleptMs
  }

  /**
   * The true time at which the monotonic clock will show `localMs`, if the machine does not sleep.
   */
  trueMs(localMs: number): number {
    return this.#sinceMs + (localMs - this.#baseMs) / this.#rate
  }

  stepWall(byMs: number): void {
    this.#wallOffMs += byMs
  }

  sleep(): void {
    this.#baseMs = this.monotonicMs()
    this.#sinceMs = this.#agenda.nowMs
    this.#asleep = true
  }

  wake(): void {
    this.#wallOffMs += (this.#agenda.nowMs - this.#sinceMs) * this.#rate
    this.#sinceMs = this.#agenda.nowMs
    this.#asleep = false
  }
}
