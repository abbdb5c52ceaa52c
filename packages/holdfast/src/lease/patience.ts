/**
 * Patience: gives up on answers that do not come, with one timer for all of a client's open questions.
 *
 * All have the same time, so they run out in the order in which they were asked, and only the oldest needs a timer.
 */
import type { Clock, Timer } from '../clock/clock.js'

/** A question that is open. Given back to `end` when its answer came. */
export interface Question {
  readonly untilMs: number
  readonly giveUp: () => void
}

export class Patience {
  readonly #clock: Clock
  readonly #timeoutMs: number
  /** In the order in which they were asked. */
  readonly #open = new Set<Question>()
  #timer: Timer | undefined

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** @param giveUp called once, unless the question ends before the time is over */
  begin(giveUp: () => void): Question {
    const question = { untilMs: this.#clock.monotonicMs() + this.#timeoutMs, giveUp }
    if (!this.#timer) this.#timer = this.#clock.timer(this.#timeoutMs, () => this.#look())
    else if (this.#open.size === 0) this.#timer.hold?.(true)
    this.#open.add(question)
    return question
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
    this.#timer = undefined
    const nowMs = this.#clock.monotonicMs()
    for (const question of this.#open) {
      if (question.untilMs > nowMs) {
        this.#timer = this.#clock.timer(question.untilMs - nowMs, () => this.#look())
        return
      }
      this.#open.delete(question)
      question.giveUp()
    }
  }
}
