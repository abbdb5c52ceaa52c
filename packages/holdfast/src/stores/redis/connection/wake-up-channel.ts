/**
 * The subscription of this client on one server: one channel for all locks, on a connection of the
 * store's own. The first waiter opens it.
 */
import { notHeard } from '../errors.js'
import type { ChannelConnection, Transport } from './transports/transport.js'
import type { MessageListener, Subscription, Subscriptions } from './subscriptions.js'

const LISTENING: Subscription = { ready: undefined, leave: () => undefined }

export class WakeUpChannel implements Subscriptions {
  readonly publishTo: string
  readonly #transport: Transport
  readonly #start: string
  readonly #name: string
  readonly #listener: MessageListener
  readonly #readiness = new Readiness()
  #connection: ChannelConnection | undefined
  #listening = false
  /** Whether messages may have been lost before the next one is heard. */
  #hasGap = false
  #isReported = false

  /** @param start what stands before each key and channel of the store */
  constructor(transport: Transport, start: string, clientId: string, listener: MessageListener) {
    this.#transport = transport
    this.#start = start
    this.#name = `${start}:${clientId}`
    this.publishTo = `PUBLISH ${this.#name}`
    this.#listener = listener
  }

  join(): Subscription {
    this.#connect()
    // A server may refuse the subscription forever, and waiters come and go meanwhile.
    return this.#listening ? LISTENING : this.#readiness.join()
  }

  close(): void {
    this.#connection?.close()
    this.#readiness.succeed()
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
    // After a gap, or where waiters had to do without it.
    if (this.#hasGap) this.#listener.missed()
    this.#hasGap = true
    this.#listening = true
    this.#isReported = false
    this.#readiness.succeed()
  }

  /** Reports it once, to one waiter: each of them would report the same. */
  #onRefused(error: unknown): void {
    this.#hasGap = true
    this.#listening = false
    if (!this.#isReported) this.#isReported = this.#readiness.failOne(notHeard(error, this.#start))
  }
}

interface Waiting {
  resolve(): void
  reject(error: unknown): void
}

/**
 * The waiters for a subscription that is not confirmed yet. Each has a promise of its own, so that
 * nothing is kept of a waiter that has left.
 */
export class Readiness {
  readonly #waiting = new Set<Waiting>()

  join(): { readonly ready: Promise<void>; leave(): void } {
    let waiting!: Waiting
    const ready = new Promise<void>((resolve, reject) => (waiting = { resolve, reject }))
    // Not every waiter asks how it ended.
    ready.catch(() => undefined)
    this.#waiting.add(waiting)
    return {
      ready,
      leave: () => {
        this.#waiting.delete(waiting)
        waiting.resolve()
      },
    }
  }

  /** The server confirmed the subscription, or it will not be needed any more. */
  succeed(): void {
    for (const waiting of this.#waiting) waiting.resolve()
    this.#waiting.clear()
  }

  /**
   * The server refuses it: rejects the promise of one waiter, and returns whether there is one. The
   * others go on waiting for a subscription that works.
   */
  failOne(error: unknown): boolean {
    const [waiting] = this.#waiting
    if (!waiting) return false
    waiting.reject(error)
    return this.#waiting.delete(waiting)
  }
}
