/**
 * What hears of the end of one lease beside the caller that releases it: its signal, and a run that
 * waits for callbacks. Most leases have neither, so this is made when something asks for it.
 */
import { bindContext } from '../../async/async-context.js'
import type { DeadlineTimer } from '../../clock/deadline-timer.js'

export class EndListeners {
  /** Fires when the lease reaches `maxHoldMs`. */
  maxHold: DeadlineTimer | undefined
  earlyAbort: { watch(): void; cancel(): void } | undefined
  /** Why the holder was asked to stop: the client closes. */
  stopReason: unknown
  /** Called when the lease is lost or released. */
  onOver: (() => void) | undefined
  /** The signal of the lease, once it was read. */
  signal: AbortSignal | undefined
  #abort: ((reason: unknown) => void) | undefined

  /**
   * Makes the signal: a controller costs microseconds. It aborts in the context of its first
   * reader, to which most listeners belong.
   * @param reason why the signal is aborted from the start; undefined when it is not
   */
  makeSignal(reason: unknown): AbortSignal {
    const controller = new AbortController()
    this.#abort = bindContext((why: unknown) => controller.abort(why))
    if (reason !== undefined) controller.abort(reason)
    this.signal = controller.signal
    return this.signal
  }

  abort(reason: unknown): void {
    this.#abort?.(reason)
  }

  /** Watches the end for a signal that aborts early. The end may have come nearer. */
  watchEnd(): void {
    if (this.signal) this.earlyAbort?.watch()
  }

  stopTimers(): void {
    this.maxHold?.cancel()
    this.earlyAbort?.cancel()
  }
}
