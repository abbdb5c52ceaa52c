/** Which attempts of one claim were answered, and since when the store does not answer. */
import type { LockError } from '../../errors.js'
import type { Claim } from '../../store/contract.js'
import { LATE_AFTER_MS } from '../runtime/open-waits.js'
import { Outage } from '../wait/outage.js'
import type { Runtime } from '../runtime/runtime.js'

export class AttemptLog {
  readonly #runtime: Runtime
  /** When the latest attempt left. */
  #sentMs: number
  /** When the latest answered attempt left. */
  #answeredMs = -Infinity
  /** When the earliest attempt left that is unanswered, and no later one was answered. */
  #unansweredMs: number | undefined
  /** Since when the first attempt is held back for another request, if it was. */
  #heldBackMs: number | undefined
  /** From the first attempt that found no store until one is answered. Only the log changes it. */
  outage: Outage | undefined

  /** @param unansweredMs when an attempt left that is unanswered, if there is one */
  constructor(runtime: Runtime, unansweredMs: number | undefined) {
    this.#runtime = runtime
    this.#sentMs = unansweredMs ?? -Infinity
    this.#unansweredMs = unansweredMs
  }

  noteSent(sentMs: number): void {
    this.#sentMs = sentMs
    this.#unansweredMs ??= sentMs
  }

  /** Notes the answer to an attempt that left at `sentMs`. It ends an outage. */
  noteAnswered(sentMs: number): void {
    this.#answeredMs = Math.max(this.#answeredMs, sentMs)
    this.#unansweredMs = this.#sentMs > this.#answeredMs ? this.#sentMs : undefined
    this.outage = undefined
  }

  /** Whether no later attempt was answered, so that the outcome of this one matters. */
  isOpen(sentMs: number): boolean {
    return sentMs >= this.#answeredMs
  }

  /** Notes that an attempt failed. Returns the outage. */
  noteFailed(claim: Claim, sentMs: number, error: LockError): Outage {
    this.#unansweredMs = this.#sentMs > sentMs ? this.#sentMs : undefined
    return this.#noteOutage(claim, sentMs, error)
  }

  /** Notes that the first attempt waits for the answer to another request. */
  noteHeldBack(): void {
    this.#heldBackMs ??= this.#runtime.clock.monotonicMs()
  }

  /** See `AwaitedClaim.unansweredSinceMs`. Only until the first answer. */
  get unansweredSinceMs(): number | undefined {
    return this.#heldBackMs ?? this.#unansweredMs
  }

  /** Begins an outage without an attempt: an earlier caller of this client found no store. */
  beginOutage(error: LockError): void {
    this.outage = new Outage(this.#runtime, error, this.#runtime.clock.monotonicMs())
  }

  /** See `AwaitedClaim.checkLate`. */
  checkLate(claim: Claim, nowMs: number, awakeMs: number): number {
    const sinceMs = this.#unansweredMs
    if (sinceMs === undefined) return nowMs + LATE_AFTER_MS
    const lateMs = Math.max(sinceMs, awakeMs) + LATE_AFTER_MS
    if (nowMs < lateMs) return lateMs
    // Some client libraries keep a request until they reach the server again.
    const error = this.outage?.error ?? this.#runtime.noAnswer(claim.lock)
    this.#noteOutage(claim, sinceMs, error)
    return nowMs + LATE_AFTER_MS
  }

  #noteOutage(claim: Claim, sinceMs: number, error: LockError): Outage {
    const outage = (this.outage ??= new Outage(this.#runtime, error, sinceMs))
    outage.note(claim, error)
    return outage
  }
}
