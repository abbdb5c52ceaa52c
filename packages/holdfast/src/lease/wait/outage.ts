/**
 * What a waiting claim knows of a store that does not answer: why, and for how long.
 *
 * Only time in which requests failed counts. A stopped process or a sleeping machine sends nothing:
 * that is no outage of the store.
 */
import type { LockError } from '../../errors.js'
import type { Claim } from '../../store/contract.js'
import { LATE_AFTER_MS } from '../runtime/open-waits.js'
import type { Runtime } from '../runtime/runtime.js'
import { channels } from '../runtime/events.js'
import { LONGEST_PAUSE_MS } from './retry-rounds.js'

/** A caller that does not say how long it waits gives up after so long an outage. */
export const OUTAGE_LIMIT_MS = 30_000

/** A program that does not subscribe to the event is warned after so long an outage. */
const WARN_AFTER_MS = 5_000

let hasWarned = false

export class Outage {
  readonly #runtime: Runtime
  #error: LockError
  #silentMs = 0
  #notedMs: number
  #announced = false

  /** @param sinceMs when the first request left that failed, by the monotonic clock */
  constructor(runtime: Runtime, error: LockError, sinceMs: number) {
    this.#runtime = runtime
    this.#error = error
    this.#notedMs = sinceMs
  }

  /** Why the last request failed. */
  get error(): LockError {
    return this.#error
  }

  /** For how long requests have failed, in milliseconds. */
  get silentMs(): number {
    return this.#silentMs
  }

  /** Notes that a request of the claim failed. */
  note(claim: Claim, error: LockError): void {
    const { clock } = this.#runtime
    const nowMs = clock.monotonicMs()
    this.#silentMs += Math.min(nowMs - this.#notedMs, LATE_AFTER_MS + LONGEST_PAUSE_MS)
    this.#notedMs = nowMs
    this.#error = error
    if (this.silentMs >= WARN_AFTER_MS) this.#warn(claim)
    if (this.#announced || this.silentMs < LATE_AFTER_MS) return
    this.#announced = true
    this.#runtime.announce('store-unavailable', claim, { error, durationMs: this.silentMs })
  }

  /** Once for each process, for users who forgot to start the server. */
  #warn({ lock }: Claim): void {
    if (hasWarned || channels['store-unavailable'].hasSubscribers) return
    hasWarned = true
    process.emitWarning(`"${lock}" waits for the store. ${this.error.message}`, {
      type: 'HoldfastWarning',
      code: 'STORE_UNAVAILABLE',
    })
  }
}
