/**
 * A transport that leaves a server which refuses writes.
 *
 * Behind one address another server may take over, while the old one stays connected and is
 * read-only from then on. A client of the caller's is not touched: the store works on a connection
 * of its own until that client has connected again. A client of our own is connected again.
 */
import type { Clock } from '../../../../clock/clock.js'
import type {
  ChannelConnection,
  ChannelListener,
  OwnConnection,
  Replacement,
  StateListener,
  Transport,
} from './transport.js'

/** Between two connections, while the address leads to the old server. The pause doubles. */
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2000
/** After so long another failover has begun. */
const CALM_MS = 30_000

export class MovableTransport implements Transport {
  readonly run: Transport['run'] = (by, script, keys, args) =>
    this.#current.run(by, script, keys, args)
  readonly #client: Transport
  readonly #reconnect: (() => void) | undefined
  readonly #clock: Clock
  readonly #listeners = new Set<StateListener>()
  readonly #channels = new Set<ChannelConnection>()
  #current: Transport
  #replacement: Replacement | undefined
  #stopWatching: (() => void) | undefined
  #leftMs = -Infinity
  #pauseMs = FIRST_PAUSE_MS

  /** @param reconnect connects a client of our own again */
  constructor(client: Transport, reconnect: (() => void) | undefined, clock: Clock) {
    this.#client = client
    this.#current = client
    this.#reconnect = reconnect
    this.#clock = clock
  }

  get keyPrefix(): string {
    return this.#client.keyPrefix
  }

  get writesAtOnce(): boolean {
    return this.#client.writesAtOnce === true
  }

  get isReady(): boolean {
    return this.#current.isReady
  }

  /** A client of our own connects again. */
  get isClosed(): boolean {
    return !this.#reconnect && this.#current === this.#client && this.#client.isClosed === true
  }

  command(name: string, ...args: string[]): Promise<unknown> {
    return this.#current.command(name, ...args)
  }

  connect(): OwnConnection {
    return this.#client.connect()
  }

  listen(channel: string, listener: ChannelListener): ChannelConnection {
    const connection = this.#client.listen(channel, listener)
    this.#channels.add(connection)
    return {
      close: () => {
        this.#channels.delete(connection)
        connection.close()
      },
    }
  }

  watchState(listener: StateListener): () => void {
    this.#listeners.add(listener)
    this.#stopWatching ??= this.#client.watchState({
      ready: () => this.#onClientReady(),
      lost: (error) => this.#report(this.#client, (listener) => listener.lost(error)),
      broken: () => this.#report(this.#client, (listener) => listener.broken?.()),
    })
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return
      this.#stopWatching?.()
      this.#stopWatching = undefined
    }
  }

  written(): Promise<void> | undefined {
    return this.#current.written?.()
  }

  leave(): void {
    const nowMs = this.#clock.monotonicMs()
    const sinceMs = nowMs - this.#leftMs
    if (sinceMs < this.#pauseMs) return
    this.#pauseMs =
      sinceMs > CALM_MS ? FIRST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, 2 * this.#pauseMs)
    this.#leftMs = nowMs
    if (this.#reconnect) this.#reconnect()
    else if (this.#client.replace) this.#replace(this.#client.replace())
    else this.#client.leave?.()
    // Messages come from the old server, too.
    for (const channel of this.#channels) channel.renew?.()
  }

  close(): void {
    this.#replacement?.close()
    this.#replacement = undefined
    this.#current = this.#client
  }

  #replace(next: Replacement): void {
    const before = this.#replacement
    this.#replacement = next
    this.#current = next.transport
    next.transport.watchState({
      ready: () => this.#report(next.transport, (listener) => listener.ready()),
      lost: (error) => this.#report(next.transport, (listener) => listener.lost(error)),
      broken: () => this.#report(next.transport, (listener) => listener.broken?.()),
    })
    this.#report(next.transport, (listener) => listener.lost())
    before?.close()
  }

  /** The client of the caller may have found the primary meanwhile: the next write shows it. */
  #onClientReady(): void {
    const { isReady } = this
    const wasReplaced = this.#replacement !== undefined
    this.close()
    // What is in flight on the other connection fails with it, and is sent again.
    if (wasReplaced && isReady) this.#report(this.#client, (listener) => listener.broken?.())
    this.#report(this.#client, (listener) => listener.ready())
  }

  #report(from: Transport, tell: (listener: StateListener) => void): void {
    if (from !== this.#current) return
    for (const listener of this.#listeners) tell(listener)
  }
}
