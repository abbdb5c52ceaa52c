/**
 * The heartbeats of a client's waiting claims: one beat for all of them. So a store that batches
 * the requests of a tick gets one request per process and second, not one per waiter.
 */
import type { Timer } from '../../clock/clock.js'
import { LinkedSet, type Place } from '../../collections/linked-set.js'
import type { Runtime } from '../runtime/runtime.js'
import { outsideContext } from '../../async/async-context.js'

interface Beat {
  readonly listeners: LinkedSet<() => void>
  timer: Timer | undefined
}

/** Above this number, the client forgets a rhythm as soon as no claim has it. */
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
    return () => this.#leave(heartbeatMs, beat, place)
  }

  #leave(heartbeatMs: number, beat: Beat, place: Place<() => void>): void {
    if (!beat.listeners.delete(place) || beat.listeners.size > 0) return
    // The next claim may come soon, so the timer stays.
    if (this.#beats.size <= RHYTHMS_KEPT) return
    beat.timer?.cancel()
    beat.timer = undefined
    this.#beats.delete(heartbeatMs)
  }

  /**
   * Each beat comes a little early, at random, so that processes do not send at the same moment.
   */
  #arm(heartbeatMs: number, beat: Beat): void {
    const { clock } = this.#runtime
    const afterMs = this.#runtime.jitter(0.75, 0.95) * heartbeatMs
    const fire = (): void => {
      beat.timer = undefined
      for (const listener of beat.listeners.values()) listener()
      if (beat.listeners.size > 0 && !beat.timer) this.#arm(heartbeatMs, beat)
    }
    beat.timer = outsideContext(() => clock.timer(afterMs, fire, true))
  }
}
