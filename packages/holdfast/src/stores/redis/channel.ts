/**
 * Where the waiters of this client listen on one server: one channel for all locks, on a connection of the store's own that
 * is opened when somebody waits first.
 */
import type { ChannelConnection, Transport } from './transports/transport.js'
import type { MessageListener, Subscription, Subscriptions } from './wakes.js'

const nothing = (): void => undefined

export class OneChannel implements Subscriptions {
  readonly #transport: Transport
  readonly #name: string
  readonly #listener: MessageListener
  #connection: ChannelConnection | undefined
  #listening = false
  #firstListening: Promise<void> | undefined
  #onFirstListening: (() => void) | undefined

  constructor(transport: Transport, name: string, listener: MessageListener) {
    this.#transport = transport
    this.#name = name
    this.#listener = listener
  }

  channelOf(): string {
    return this.#name
  }

  join(): Subscription {
    this.#connect()
    return { ready: this.#listening ? undefined : this.#firstListening, leave: nothing }
  }

  close(): void {
    this.#connection?.close()
    this.#onFirstListening?.()
  }

  #connect(): void {
    if (this.#connection) return
    this.#firstListening = new Promise((resolve) => (this.#onFirstListening = resolve))
    this.#connection = this.#transport.listen(this.#name, {
      message: (text) => this.#listener.message(text),
      listening: () => this.#onListening(),
    })
  }

  #onListening(): void {
    // After a gap.
    if (this.#listening) this.#listener.missed()
    this.#listening = true
    this.#onFirstListening?.()
  }
}
