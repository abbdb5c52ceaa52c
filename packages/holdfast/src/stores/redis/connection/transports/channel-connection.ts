/**
 * Keeps a subscription: whenever its connection ends, another one is made with the settings that
 * the caller's client has then. Waiters have their heartbeats meanwhile.
 */
import { unrefTimer } from '../../../../clock/clock.js'
import { isServerError, noPubSub } from '../../errors.js'
import type { ChannelConnection, ChannelListener } from './transport.js'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 5000
/** After this many connections that ended at SUBSCRIBE in a row, it is reported. */
const HUNG_UP_IN_A_ROW = 3

/** Hears of one connection. Nothing is called after `ended`. */
export interface SubscriberListener {
  /** The server greeted: commands get through. */
  connected(): void
  subscribed(): void
  message(text: string): void
  /** It ended, or the server refused it with this error. Called once. */
  ended(error?: unknown): void
}

/** Makes a connection that subscribes once and never connects again by itself. */
export type OpenSubscriber = (listener: SubscriberListener) => { close(): void }

/**
 * The pause grows until a subscription has lasted: a proxy may accept each connection and end it at
 * SUBSCRIBE.
 */
export class KeptSubscription implements ChannelConnection {
  readonly #open: OpenSubscriber
  readonly #listener: ChannelListener
  #subscriber: { close(): void } | undefined
  #retry: NodeJS.Timeout | undefined
  #failures = 0
  #hungUp = 0
  #closed = false

  constructor(open: OpenSubscriber, listener: ChannelListener) {
    this.#open = open
    this.#listener = listener
    this.#connect()
  }

  /** Makes the connection again at once, since the address may lead to another server now. */
  renew(): void {
    if (this.#closed) return
    this.#drop()
    this.#connect()
  }

  close(): void {
    this.#closed = true
    this.#drop()
  }

  #drop(): void {
    clearTimeout(this.#retry)
    const subscriber = this.#subscriber
    this.#subscriber = undefined
    subscriber?.close()
  }

  #connect(): void {
    let isConnected = false
    let subscribedMs: number | undefined
    let ended = false
    const isCurrent = (): boolean => !ended && this.#subscriber === subscriber
    const subscriber = this.#open({
      connected: () => (isConnected = true),
      subscribed: () => {
        if (!isCurrent()) return
        subscribedMs = performance.now()
        this.#hungUp = 0
        this.#listener.listening()
      },
      message: (text) => {
        if (isCurrent()) this.#listener.message(text)
      },
      ended: (error) => {
        if (!isCurrent()) return
        ended = true
        this.#drop()
        const lastedMs = subscribedMs === undefined ? 0 : performance.now() - subscribedMs
        if (lastedMs > LONGEST_PAUSE_MS) this.#failures = 0
        if (isServerError(error)) this.#listener.refused(error)
        else if (isConnected && subscribedMs === undefined) this.#noteHungUp()
        this.#connectLater()
      },
    })
    this.#subscriber = subscriber
  }

  #noteHungUp(): void {
    this.#hungUp += 1
    if (this.#hungUp >= HUNG_UP_IN_A_ROW) this.#listener.refused(noPubSub())
  }

  #connectLater(): void {
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures)
    this.#failures += 1
    this.#retry = setTimeout(() => this.#connect(), pauseMs)
    unrefTimer(this.#retry)
  }
}
