/**
 * The callers of a client that wait, in the order of the calls. One timer for all of them looks for
 * attempts whose answers are late.
 */
import type { Clock, Timer } from '../../clock/clock.js'
import { LinkedSet, type Place } from '../../collections/linked-set.js'
import type { LockError } from '../../errors.js'
import { outsideContext } from '../../async/async-context.js'
import { beginCall, endCall } from '../../async/keep-alive.js'

/** After this time without an answer an attempt counts as late. */
export const LATE_AFTER_MS = 1000

/** After this time a caller is asked about: it may wait for itself. */
const LONG_MS = 10_000

/** A claim whose grant a caller waits for. */
export interface AwaitedClaim {
  readonly claimId: string
  /** Why it is unknown whether the lock is busy: the store does not answer. */
  readonly failure: LockError | undefined
  /**
   * Since when the client waits for the first answer about this lock, by the monotonic clock.
   * Undefined once an attempt was answered.
   */
  readonly unansweredSinceMs: number | undefined
  /**
   * Notes what is late, and returns when to look again.
   * @param awakeMs since when the process certainly runs: earlier answers may be unread
   */
  checkLate(nowMs: number, awakeMs: number): number
}

/** Where a caller waits. */
export interface ClaimSource {
  /** The claim that stands for the caller now, while its grant is on the way. */
  readonly pending: AwaitedClaim | undefined
}

/** A caller that waits, as `close` and the timer see it. */
export interface OpenWait {
  readonly lock?: string
  readonly startedMs: number
  readonly source: ClaimSource | undefined
  /** Ends the wait because its client was closed. */
  close(): void
}

export class OpenWaits extends LinkedSet<OpenWait> {
  readonly #clock: Clock
  #timer: Timer | undefined
  /** Called with the callers that have waited for long, once for each. */
  onLong: ((waits: readonly OpenWait[], nowMs: number) => void) | undefined
  /** The callers that began until then were reported as long. */
  #reportedMs = -Infinity
  #wakeMs = 0
  #awakeMs = -Infinity

  constructor(clock: Clock) {
    super()
    this.#clock = clock
  }

  override add(wait: OpenWait): Place<OpenWait> {
    if (!this.#timer) this.#arm(wait.startedMs + LATE_AFTER_MS, wait.startedMs)
    if (this.size === 0) beginCall()
    return super.add(wait)
  }

  /** Adds a wait whose answers are never late: its request is bounded. `close` ends it as well. */
  addUnchecked(wait: OpenWait): Place<OpenWait> {
    if (this.size === 0) beginCall()
    return super.add(wait)
  }

  override delete(place: Place<OpenWait>): boolean {
    const isDeleted = super.delete(place)
    if (isDeleted && this.size === 0) endCall()
    return isDeleted
  }

  close(): void {
    for (const wait of this.values()) wait.close()
  }

  #arm(wakeMs: number, nowMs: number): void {
    this.#wakeMs = wakeMs
    this.#timer = outsideContext(() =>
      this.#clock.timer(Math.max(0, wakeMs - nowMs), () => this.#check(), true),
    )
  }

  /** Reports the callers that have waited for long. */
  #reportLong(nowMs: number): void {
    const untilMs = nowMs - LONG_MS
    const sinceMs = this.#reportedMs
    this.#reportedMs = untilMs
    const long: OpenWait[] = []
    for (let place = this.first; place; place = place.next) {
      const { startedMs } = place.value
      if (startedMs > untilMs) break
      if (startedMs > sinceMs) long.push(place.value)
    }
    if (long.length > 0) this.onLong?.(long, nowMs)
  }

  #check(): void {
    const nowMs = this.#clock.monotonicMs()
    // A timer that is late itself means that the process was stopped.
    if (nowMs - this.#wakeMs > LATE_AFTER_MS / 2) this.#awakeMs = nowMs
    // A claim may begin at any time for a caller that has none now, or with a further caller.
    let nextMs = nowMs + LATE_AFTER_MS
    for (const { source } of this.values())
      nextMs = Math.min(nextMs, source?.pending?.checkLate(nowMs, this.#awakeMs) ?? Infinity)
    this.#reportLong(nowMs)
    this.#timer = undefined
    if (this.size > 0) this.#arm(nextMs, nowMs)
  }
}
