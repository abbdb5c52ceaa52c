/**
 * Ends requests that the server does not answer, with one timer for all of them.
 *
 * Every request has the same timeout, so requests time out in the order in which they were sent.
 * Only the oldest one needs a timer.
 */
import type { Clock, Timer } from './clock.js'
import { LinkedSet, type Place } from '../collections/linked-set.js'

/** A class and not a literal: see `Place`. */
class Pending {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare readonly sentMs: number
  declare readonly giveUp: () => void

  constructor(sentMs: number, giveUp: () => void) {
    this.sentMs = sentMs
    this.giveUp = giveUp
  }
}

/** A request without an answer yet. The caller passes it to `end` when the answer arrives. */
export type PendingRequest = Place<Pending>

/** Stands for the timer while it fires. */
const FIRING: Timer = { cancel: () => undefined }

export class RequestTimeouts {
  readonly #clock: Clock
  readonly #timeoutMs: number
  /** In the order in which they were sent. */
  readonly #open = new LinkedSet<Pending>()
  #timer: Timer | undefined

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** @param giveUp called once, unless `end` is called before the time is over */
  start(giveUp: () => void): PendingRequest {
    const sentMs = this.#clock.monotonicMs()
    if (!this.#timer) this.#arm(this.#timeoutMs)
    else if (this.#open.size === 0) this.#timer.hold?.(true)
    return this.#open.add(new Pending(sentMs, giveUp))
  }

  /** Ends a request that was answered. Returns false when the answer came too late. */
  end(request: PendingRequest): boolean {
    const inTime = this.#open.delete(request)
    // An idle timer must not keep the process alive. It stays armed: for a caller with one request
    // at a time, stopping and starting it would be a large part of the cost here.
    if (this.#open.size === 0) this.#timer?.hold?.(false)
    return inTime
  }

  #arm(delayMs: number): void {
    this.#timer = this.#clock.timer(delayMs, () => this.#check())
  }

  #check(): void {
    const nowMs = this.#clock.monotonicMs()
    // A caller that gives up may start another request at once, which needs no timer of its own.
    this.#timer = FIRING
    try {
      let first = this.#open.first
      while (first && first.value.sentMs + this.#timeoutMs <= nowMs) {
        this.#open.delete(first)
        first.value.giveUp()
        first = this.#open.first
      }
    } finally {
      const { first } = this.#open
      this.#timer = undefined
      if (first) this.#arm(Math.max(0, first.value.sentMs + this.#timeoutMs - nowMs))
    }
  }
}
