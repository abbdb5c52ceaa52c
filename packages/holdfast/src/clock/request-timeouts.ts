/**
 * Ends requests that the store does not answer, with one timer for all pending requests of a
 * client.
 *
 * Every request has the same timeout, so requests time out in the order in which they were sent.
 * Only the oldest one needs a timer. Before the timeout, a request may be notified that its answer
 * is late.
 */
import type { Clock, Timer } from './clock.js'
import { LinkedSet, type Place } from '../collections/linked-set.js'

interface Pending {
  readonly sentMs: number
  readonly giveUp: () => void
  /** Called once, when the answer is late. */
  late: (() => void) | undefined
}

/** A request without an answer yet. The caller passes it to `settle` when the answer arrives. */
export type PendingRequest = Place<Pending>

/** Stands for the timer while it fires. */
const FIRING: Timer = { cancel: () => undefined }

export class RequestTimeouts {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #lateMs: number
  /** In the order in which they were asked. */
  readonly #open = new LinkedSet<Pending>()
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
  start(giveUp: () => void, late?: () => void): PendingRequest {
    const sentMs = this.#clock.monotonicMs()
    if (!this.#timer) this.#arm(sentMs, Math.min(this.#timeoutMs, this.#lateMs))
    else if (this.#open.size === 0) this.#timer.hold?.(true)
    return this.#open.add({ sentMs, giveUp, late })
  }

  /** Says that the answer came. False when it was given up before: the answer is too late. */
  settle(request: PendingRequest): boolean {
    const inTime = this.#open.delete(request)
    // A timer that nobody needs must not keep the process alive. It stays all the same: for a
    // caller who asks one thing at a time, stopping and starting it would be a good part of what a
    // question costs here.
    if (this.#open.size === 0) this.#timer?.hold?.(false)
    return inTime
  }

  #arm(nowMs: number, delayMs: number): void {
    this.#lookMs = nowMs + delayMs
    this.#timer = this.#clock.timer(delayMs, () => this.#check())
  }

  #check(): void {
    const nowMs = this.#clock.monotonicMs()
    // Who gives up may ask anew in the same breath. A timer set for that would be one too many:
    // there is one for all.
    this.#timer = FIRING
    try {
      for (
        let first = this.#open.first;
        first && this.#isOver(first, nowMs);
        first = this.#open.first
      ) {
        this.#open.delete(first)
        first.value.giveUp()
      }
      // A timer that is late itself tells of a process that was stopped: answers may be there, and
      // not read yet.
      if (nowMs - this.#lookMs > this.#lateMs / 2) this.#awakeMs = nowMs
      this.#reportLate(nowMs)
    } finally {
      const leftMs = this.#nextMs(nowMs)
      this.#timer = undefined
      if (leftMs !== undefined) this.#arm(nowMs, leftMs)
    }
  }

  #isOver({ value }: PendingRequest, nowMs: number): boolean {
    return value.sentMs + this.#timeoutMs <= nowMs
  }

  #reportLate(nowMs: number): void {
    for (let place = this.#open.first; place; place = place.next) {
      if (this.#lateAtMs(place) > nowMs) return
      const { late } = place.value
      place.value.late = undefined
      late?.()
    }
  }

  #lateAtMs({ value }: PendingRequest): number {
    return Math.max(value.sentMs, this.#awakeMs) + this.#lateMs
  }

  /** How long until something is to be done for one of those that are open. */
  #nextMs(nowMs: number): number | undefined {
    const { first } = this.#open
    if (!first) return undefined
    let nextMs = first.value.sentMs + this.#timeoutMs
    let place: PendingRequest | undefined = this.#lateMs === Infinity ? undefined : first
    while (place && !place.value.late) place = place.next
    if (place) nextMs = Math.min(nextMs, this.#lateAtMs(place))
    return Math.max(0, nextMs - nowMs)
  }
}
