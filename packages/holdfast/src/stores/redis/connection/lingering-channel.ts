/**
 * A subscription that ends when no waiter has needed it for a moment. For transports whose open
 * subscription would keep the process alive.
 */
import type { Clock, Timer } from '../../../clock/clock.js'
import type { MessageListener, Subscription, Subscriptions } from './subscriptions.js'
import type { Transport } from './transports/transport.js'
import { WakeUpChannel } from './wake-up-channel.js'

export class LingeringChannel implements Subscriptions {
  readonly publishTo: string
  readonly #open: () => WakeUpChannel
  readonly #clock: Clock
  readonly #lingerMs: number
  #channel: WakeUpChannel | undefined
  #waiters = 0
  #end: Timer | undefined

  constructor(
    [transport, start, clientId, listener]: readonly [Transport, string, string, MessageListener],
    lingerMs: number,
    clock: Clock,
  ) {
    this.publishTo = `PUBLISH ${start}:${clientId}`
    this.#open = () => new WakeUpChannel(transport, start, clientId, listener)
    this.#clock = clock
    this.#lingerMs = lingerMs
  }

  join(): Subscription {
    this.#end?.cancel()
    this.#waiters += 1
    this.#channel ??= this.#open()
    const joined = this.#channel.join()
    let open = true
    return {
      ready: joined.ready,
      leave: () => {
        if (!open) return
        open = false
        joined.leave()
        this.#waiters -= 1
        if (this.#waiters === 0) this.#endSoon()
      },
    }
  }

  close(): void {
    this.#end?.cancel()
    this.#channel?.close()
    this.#channel = undefined
  }

  #endSoon(): void {
    this.#end = this.#clock.timer(this.#lingerMs, () => this.close(), true)
  }
}
