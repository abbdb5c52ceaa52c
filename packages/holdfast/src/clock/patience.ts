/**
 * Patience: gives up on answers that do not come, with one timer for all questions that are open.
 *
 * All have the same time, so they run out in the order in which they were asked, and only the oldest needs a timer.
 */
import type { Clock, Timer } from './clock.js'
import { LinkedSet, type Place } from '../collections/linked-set.js'

interface Asked {
  readonly untilMs: number
  readonly giveUp: () => void
}

/** A question that is open. Given back to `end` when its answer came. */
export type Question = Place<Asked>

/** Stands for the timer while it fires. */
const FIRING: Timer = { cancel: () => undefined }

export class Patience {
  readonly #clock: Clock
  readonly #timeoutMs: number
  /** In the order in which they were asked. */
  readonly #open = new LinkedSet<Asked>()
  #timer: Timer | undefined

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** @param giveUp called once, unless the question ends before the time is over */
  begin(giveUp: () => void): Question {
    const untilMs = this.#clock.monotonicMs() + this.#timeoutMs
    if (!this.#timer) this.#timer = this.#clock.timer(this.#timeoutMs, () => this.#look())
    else if (this.#open.size === 0) this.#timer.hold?.(true)
    return this.#open.add({ untilMs, giveUp })
  }

  /** Says that the answer came. False when it was given up before: the answer is too late. */
  end(question: Question): boolean {
    const inTime = this.#open.delete(question)
    // A timer that nobody needs must not keep the process alive. It stays all the same: for a caller who asks one thing
    // at a time, stopping and starting it would be a good part of what a question costs here.
    if (this.#open.size === 0) this.#timer?.hold?.(false)
    return inTime
  }

  #look(): void {
    const nowMs = this.#clock.monotonicMs()
    // Who gives up may ask anew in the same breath. A timer set for that would be one too many: there is one for all.
    this.#timer = FIRING
    try {
      for (let first = this.#open.first; first && first.value.untilMs <= nowMs; first = this.#open.first) {
        this.#open.delete(first)
        first.value.giveUp()
      }
    } finally {
      const next = this.#open.first?.value
      this.#timer = next && this.#clock.timer(next.untilMs - nowMs, () => this.#look())
    }
  }
}
