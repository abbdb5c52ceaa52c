/**
 * What hears of the end of one lease beside the caller that releases it: its signal, and a run that
 * waits for callbacks. Most leases have neither, so this is made when something asks for it.
 */
import type { Clock } from '../../clock/clock.js'
import type { DeadlineTimer } from '../../clock/deadline-timer.js'
import { EarlyAbort } from './early-abort.js'
import { LeaseSignal } from './lease-signal.js'

export class EndListeners {
  /** Fires when the lease reaches `maxHoldMs`. */
  maxHold: DeadlineTimer | undefined
  /** Why the holder was asked to stop: the client closes. */
  stopReason: unknown
  /** Called when the lease is lost or released. */
  onOver: (() => void) | undefined
  #signal: LeaseSignal | undefined
  #earlyAbort: EarlyAbort | undefined

  get hasSignal(): boolean {
    return this.#signal !== undefined
  }

  /** Returns the signal. It is made when it is first read. */
  signal(lossOrStop: unknown): AbortSignal {
    this.#signal ??= new LeaseSignal(lossOrStop)
    return this.#signal.signal
  }

  abort(reason: unknown): void {
    this.#signal?.abort(reason)
  }

  /**
   * Lets the signal abort before the lease ends.
   * @param timeLeftMs returns how long it is until the signal should abort
   */
  abortEarly(clock: Clock, timeLeftMs: (nowMs: number) => number, reason: () => Error): void {
    this.#earlyAbort = new EarlyAbort(clock, timeLeftMs, () => this.abort(reason()))
  }

  /** Watches the end for a signal that aborts early. The end may have come nearer. */
  watchEnd(): void {
    if (this.#signal) this.#earlyAbort?.watch()
  }

  stopTimers(): void {
    this.maxHold?.cancel()
    this.#earlyAbort?.cancel()
  }
}
