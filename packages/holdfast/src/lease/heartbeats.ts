/**
 * The heartbeats of a client's waiting claims: one beat for all that wait, so that a store which batches what it is
 * asked in one turn of the event loop gets one request per process and second, not one per waiter.
 */
import type { Timer } from '../clock/clock.js'
import type { Client } from './client.js'

interface Beat {
  readonly listeners: Set<() => void>
  timer: Timer | undefined
}

export class Heartbeats {
  readonly #client: Client
  readonly #beats = new Map<number, Beat>()

  constructor(client: Client) {
    this.#client = client
  }

  /** Calls `listener` at each beat until the returned function is called. */
  join(heartbeatMs: number, listener: () => void): () => void {
    let beat = this.#beats.get(heartbeatMs)
    if (!beat) {
      beat = { listeners: new Set(), timer: undefined }
      this.#beats.set(heartbeatMs, beat)
    }
    beat.listeners.add(listener)
    if (!beat.timer) this.#arm(heartbeatMs, beat)
    return () => this.#leave(heartbeatMs, beat, listener)
  }

  #leave(heartbeatMs: number, beat: Beat, listener: () => void): void {
    if (!beat.listeners.delete(listener) || beat.listeners.size > 0) return
    beat.timer?.cancel()
    beat.timer = undefined
    if (this.#beats.get(heartbeatMs) === beat) this.#beats.delete(heartbeatMs)
  }

  /** Each beat comes a little early, at random, so that processes do not all ask at the same moment. */
  #arm(heartbeatMs: number, beat: Beat): void {
    beat.timer = this.#client.clock.timer(this.#client.jitter(0.75, 0.95) * heartbeatMs, () => {
      beat.timer = undefined
      for (const listener of [...beat.listeners]) listener()
      if (beat.listeners.size > 0 && !beat.timer) this.#arm(heartbeatMs, beat)
    })
  }
}
