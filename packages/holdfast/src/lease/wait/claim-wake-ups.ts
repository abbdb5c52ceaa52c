/**
 * What makes a claim attempt again while it waits: the store's watch, heartbeats, and a timer. They
 * run outside of every caller's context: the claim may stand for several callers, and its watch may
 * share a connection with others.
 */
import { outsideContext } from '../../async/async-context.js'
import type { Timer } from '../../clock/clock.js'
import type { Claim, PushedGrant, Watch } from '../../store/contract.js'
import type { Runtime } from '../runtime/runtime.js'
import type { Heartbeats } from './heartbeats.js'

export interface WakeUpListener {
  /** Attempt again now. */
  attempt(): void
  /** Attempt again, unless that is arranged already. */
  heartbeat(): void
  pushed(grant: PushedGrant): void
}

/** What wake-ups need of a client. */
interface WakeUpServices {
  readonly runtime: Runtime
  readonly heartbeats: Heartbeats
}

export class ClaimWakeUps {
  readonly #services: WakeUpServices
  readonly #claim: Claim
  readonly #listener: WakeUpListener
  #watch: Watch | undefined
  #leaveHeartbeats: (() => void) | undefined
  #timer: Timer | undefined
  #isClosed = false

  constructor(services: WakeUpServices, claim: Claim, listener: WakeUpListener) {
    this.#services = services
    this.#claim = claim
    this.#listener = listener
  }

  /** Attempts again after a while, or not by a timer; replaces what was arranged before. */
  attemptAfter(delayMs: number | undefined): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (delayMs === undefined) return
    const { clock } = this.#services.runtime
    this.#timer = outsideContext(() => clock.timer(delayMs + 1, () => this.#listener.attempt()))
  }

  /** Joins the heartbeats and watches for wake-ups. Has no effect the second time. */
  join(): void {
    const { heartbeatMs } = this.#claim
    this.#leaveHeartbeats ??= this.#services.heartbeats.join(heartbeatMs, () =>
      this.#listener.heartbeat(),
    )
    if (!this.#watch) outsideContext(() => this.#startWatch())
  }

  close(): void {
    this.#isClosed = true
    this.#watch?.close()
    this.#leaveHeartbeats?.()
    this.#timer?.cancel()
  }

  #startWatch(): void {
    const { runtime } = this.#services
    this.#watch = runtime.store.watch(this.#claim, (grant) => {
      if (this.#isClosed) return
      if (grant) this.#listener.pushed(grant)
      else this.#listener.attempt()
    })
    // A wake-up from before the watch worked was missed, so the claim attempts once more.
    this.#watch.ready?.then(
      () => {
        if (!this.#isClosed) this.#listener.attempt()
      },
      (error: unknown) => runtime.report(this.#claim, 'watch', error),
    )
  }
}
