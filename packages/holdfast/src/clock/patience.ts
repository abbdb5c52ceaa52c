/**
 * Patience: gives up on answers that do not come, with one timer for all questions that are open.
 *
 * All have the same time, so they run out in the order in which they were asked, and only the oldest needs a timer. Before
 * that, questions may hear that their answer is late.
 */
import type { Clock, Timer } from './clock.js'
import { LinkedSet, type Place } from '../collections/linked-set.js'

interface Asked {
  readonly askedMs: number
  readonly giveUp: () => void
  /** Called once, when the answer is late. */
  late: (() => void) | undefined
}

/** A question that is open. Given back to `end` when its answer came. */
export type Question = Place<Asked>

/** Stands for the timer while it fires. */
const FIRING: Timer = { cancel: () => undefined }

export class Patience {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #lateMs: number
  /** In the order in which they were asked. */
  readonly #open = new LinkedSet<Asked>()
  #timer: Timer | undefined
  /** When it is to fire. */
  #lookMs = 0
  /** When the process went on that had been stopped last. */
  #awakeMs = -Infinity

  /** @param lateMs after how long an answer is late */
  constructor(clock: Clock, timeoutMs: number, lateMs = Infinity) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#lateMs = lateMs
  }

  /**
   * @param giveUp called once, unless the question ends before the time is over
   * @param late called once before that, unless the question ends before its answer is late
   */
  begin(giveUp: () => void, late?: () => void): Question {
    const askedMs = this.#clock.monotonicMs()
    if (!this.#timer) this.#arm(askedMs, Math.min(this.#timeoutMs, this.#lateMs))
    else if (this.#open.size === 0) this.#timer.hold?.(true)
    return this.#open.add({ askedMs, giveUp, late })
  }

  /** Says that the answer came. False when it was given up before: the answer is too late. */
  end(question: Question): boolean {
    const inTime = this.#open.delete(question)
    // A timer that nobody needs must not keep the process alive. It stays all the same: for a caller who asks one thing
    // at a time, stopping and starting it would be a good part of what a question costs here.
    if (this.#open.size === 0) this.#timer?.hold?.(false)
    return inTime
  }

  #arm(nowMs: number, delayMs: number): void {
    this.#lookMs = nowMs + delayMs
    this.#timer = this.#clock.timer(delayMs, () => this.#look())
  }

  #look(): void {
    const nowMs = this.#clock.monotonicMs()
    // Who gives up may ask anew in the same breath. A timer set for that would be one too many: there is one for all.
    this.#timer = FIRING
    try {
      for (let first = this.#open.first; first && this.#isOver(first, nowMs); first = this.#open.first) {
        this.#open.delete(first)
        first.value.giveUp()
      }
      // A timer that is late itself tells of a process that was stopped: answers may be there, and not read yet.
      if (nowMs - this.#lookMs > this.#lateMs / 2) this.#awakeMs = nowMs
      this.#tellLate(nowMs)
    } finally {
      const leftMs = this.#nextMs(nowMs)
      this.#timer = undefined
      if (leftMs !== undefined) this.#arm(nowMs, leftMs)
    }
  }

  #isOver({ value }: Question, nowMs: number): boolean {
    return value.askedMs + this.#timeoutMs <= nowMs
  }

  #tellLate(nowMs: number): void {
    for (let place = this.#open.first; place; place = place.next) {
      if (this.#lateAtMs(place) > nowMs) return
      const { late } = place.value
      place.value.late = undefined
      late?.()
    }
  }

  #lateAtMs({ value }: Question): number {
    return Math.max(value.askedMs, this.#awakeMs) + this.#lateMs
  }

  /** How long until something is to be done for one of those that are open. */
  #nextMs(nowMs: number): number | undefined {
    const { first } = this.#open
    if (!first) return undefined
    let nextMs = first.value.askedMs + this.#timeoutMs
    let place: Question | undefined = this.#lateMs === Infinity ? undefined : first
    while (place && !place.value.late) place = place.next
    if (place) nextMs = Math.min(nextMs, this.#lateAtMs(place))
    return Math.max(0, nextMs - nowMs)
  }
}
