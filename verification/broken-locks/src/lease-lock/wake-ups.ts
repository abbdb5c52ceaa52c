/**
 * Waiting for the message that a lock was freed. It is a hint: it may be lost, and the subscription
 * may fail.
 */
import { pause } from '../ask.js'
import type { ControlWorld } from '../contract.js'
import type { Subscription } from '../redis-connection.js'

export class WakeUps {
  readonly #world: ControlWorld
  readonly #channel: string
  #subscribed: Promise<Subscription> | undefined
  #woken = false
  #wake: (() => void) | undefined

  constructor(world: ControlWorld, channel: string) {
    this.#world = world
    this.#channel = channel
  }

  /**
   * Resolves at a wake-up, also one since the last wait; after `ms`; or when the signal is aborted.
   */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    this.#subscribe()
    if (!this.#woken) {
      const over = new AbortController()
      this.#wake = () => over.abort()
      await pause(
        this.#world.clock,
        ms,
        signal ? AbortSignal.any([signal, over.signal]) : over.signal,
      )
      this.#wake = undefined
    }
    this.#woken = false
  }

  close(): void {
    this.#subscribed?.then(
      (subscription) => subscription.close(),
      () => undefined,
    )
  }

  #subscribe(): void {
    if (this.#subscribed) return
    this.#subscribed = this.#world.redis.subscribe(this.#channel, () => this.#notify())
    // The lock may have been freed before the subscription stood: look again at once.
    this.#subscribed.then(
      () => this.#notify(),
      () => undefined,
    )
  }

  #notify(): void {
    this.#woken = true
    this.#wake?.()
  }
}
