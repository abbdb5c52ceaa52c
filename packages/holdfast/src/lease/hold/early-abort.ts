/**
 * Aborts the signal of a lease some time before the lease ends: `abortBeforeMs`.
 *
 * The timer is set when the signal is first read. A renewal does not move it: when it fires, the
 * time is compared with the deadline of then.
 */
import { DeadlineTimer } from '../../clock/deadline-timer.js'
import { ANNOUNCE_EARLY_MS } from '../grant/deadline.js'
import type { Grant } from '../grant/grant.js'
import type { Services } from '../services.js'
import { LeaseAtRiskError } from './at-risk-error.js'
import type { HeldLease } from './held-lease.js'

/**
 * Lets the signal abort this long before the lease ends. First renews a grant that is too short for
 * that, such as a pushed one. Resolves to false when the store no longer holds it.
 */
export async function abortBefore(lease: HeldLease, ms: number): Promise<boolean> {
  const { services, grant } = lease
  const wholeMs = ms + grant.askedTtlMs / 3
  if (lease.remainingMs < wholeMs) await services.renewals.renewNow(grant)
  const listeners = lease.endListeners()
  const abort = (reason: unknown): void => listeners.abort(reason)
  listeners.earlyAbort = new EarlyAbort(services, grant, lease.endsMs, ms, abort)
  lease.watchEnd()
  if (lease.open) return true
  await lease.releaseQuietly()
  return false
}

export class EarlyAbort {
  readonly #services: Services
  readonly #grant: Grant
  readonly #endsMs: number
  readonly #beforeMs: number
  readonly #abort: (reason: LeaseAtRiskError) => void
  #timer: DeadlineTimer | undefined
  #isOver = false

  /**
   * @param endsMs when the lease ends, even if its grant continues
   * @param beforeMs how long before the end of the lease the signal aborts
   */
  constructor(
    services: Services,
    grant: Grant,
    endsMs: number,
    beforeMs: number,
    abort: (reason: LeaseAtRiskError) => void,
  ) {
    this.#services = services
    this.#grant = grant
    this.#endsMs = endsMs
    this.#beforeMs = beforeMs
    this.#abort = abort
  }

  /** Begins to watch the end, or watches an end that has come nearer. */
  watch(): void {
    if (this.#isOver) return
    this.#timer?.cancel()
    this.#services.renewals.catchUp()
    const { clock, store } = this.#services.runtime
    const { deadlineMs, askedTtlMs, claim } = this.#grant
    const nowMs = clock.monotonicMs()
    const remainingMs = Math.min(deadlineMs, this.#endsMs) - nowMs
    const leftMs = remainingMs - Math.min(this.#beforeMs, askedTtlMs / 3) - ANNOUNCE_EARLY_MS
    this.#isOver = leftMs <= 0
    if (this.#isOver) {
      const details = { lock: claim.lock, store: store.name }
      this.#abort(new LeaseAtRiskError(Math.max(0, remainingMs), details))
    } else this.#timer = new DeadlineTimer(clock, nowMs + leftMs, () => this.watch())
  }

  cancel(): void {
    this.#isOver = true
    this.#timer?.cancel()
  }
}
