/**
 * Where the waiters of this client listen on one server: one channel for all locks, on a connection
 * of the store's own that is opened when somebody waits first.
 */
import { notHeard } from './errors.js'
import { Readiness } from './readiness.js'
import type { ChannelConnection, Transport } from './transports/transport.js'
import type { MessageListener, Subscription, Subscriptions } from './grant-inbox.js'

const LISTENING: Subscription = { ready: undefined, leave: () => undefined }

export class OneChannel implements Subscriptions {
  readonly #transport: Transport
  readonly #name: string
  readonly #listener: MessageListener
  readonly #readiness = new Readiness()
  #connection: ChannelConnection | undefined
  #listening = false
  #refused = false

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
    // A server may refuse the subscription for ever, and waiters come and go meanwhile.
    return this.#listening ? LISTENING : this.#readiness.join()
  }

  close(): void {
    this.#connection?.close()
    this.#readiness.tell()
  }

  #connect(): void {
    if (this.#connection) return
    this.#connection = this.#transport.listen(this.#name, {
      message: (text) => this.#listener.message(text),
      listening: () => this.#onListening(),
      refused: (error) => this.#onRefused(error),
    })
  }

  #onListening(): void {
    // After a gap, or where some have waited without it.
    if (this.#listening || this.#refused) this.#listener.missed()
    this.#listening = true
    this.#refused = false
    this.#readiness.tell()
  }

  #onRefused(error: unknown): void {
    this.#refused = true
    this.#readiness.refuse(notHeard(error))
  }
}
