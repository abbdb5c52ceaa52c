/**
 * The heartbeats of a client's waiting claims: one beat for all that wait, so that a store which
 * batches what it is asked in one turn of the event loop gets one request per process and second,
 * not one per waiter.
 */
import type { Timer } from '../clock/clock.js'
import { LinkedSet, type Place } from '../collections/linked-set.js'
import type { Runtime } from './runtime.js'
import { outsideContext } from './async-context.js'

interface Beat {
  readonly listeners: LinkedSet<() => void>
  timer: Timer | undefined
}

/** More rhythms than that are forgotten as soon as nobody has them. */
const RHYTHMS_KEPT = 16

export class Heartbeats {
  readonly #runtime: Runtime
  readonly #beats = new Map<number, Beat>()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** Calls `listener` at each beat until the returned function is called. */
  join(heartbeatMs: number, listener: () => void): () => void {
    let beat = this.#beats.get(heartbeatMs)
    if (!beat) {
      beat = { listeners: new LinkedSet(), timer: undefined }
      this.#beats.set(heartbeatMs, beat)
    }
    const place = beat.listeners.add(listener)
    if (!beat.timer) this.#arm(heartbeatMs, beat)
    else if (beat.listeners.size === 1) beat.timer.hold?.(true)
    return () => this.#leave(heartbeatMs, beat, place)
  }

  #leave(heartbeatMs: number, beat: Beat, place: Place<() => void>): void {
    if (!beat.listeners.delete(place) || beat.listeners.size > 0) return
    if (this.#beats.size > RHYTHMS_KEPT) {
      beat.timer?.cancel()
      beat.timer = undefined
      this.#beats.delete(heartbeatMs)
      return
    }
    // The next one to wait comes soon, where there are many. Without any the timer must not keep
    // the process alive.
    beat.timer?.hold?.(false)
  }

  /**
   * Each beat comes a little early, at random, so that processes do not all ask at the same moment.
   */
  #arm(heartbeatMs: number, beat: Beat): void {
    const { clock } = this.#runtime
    const afterMs = this.#runtime.jitter(0.75, 0.95) * heartbeatMs
    const fire = (): void => {
      beat.timer = undefined
      for (const listener of beat.listeners.values()) listener()
      if (beat.listeners.size > 0 && !beat.timer) this.#arm(heartbeatMs, beat)
    }
    beat.timer = outsideContext(() => clock.timer(afterMs, fire))
  }
}
