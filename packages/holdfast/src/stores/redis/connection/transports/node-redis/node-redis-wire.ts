/** How commands get to a server through node-redis. */
import type { NodeRedisClient, NodeRedisDuplicate, NodeRedisOverride } from '../../clients.js'
import { watchShared } from '../shared-state.js'
import type { StateListener } from '../transport.js'

export interface Wire {
  readonly isReady: boolean
  /** See `Transport.isClosed`. */
  readonly isClosed?: boolean
  send(args: string[]): Promise<unknown>
  /** Reports the connection's state until the returned function is called. */
  watchState(listener: StateListener): () => void
}

const LONGEST_RETRY_MS = 1000
/** How long a server may take to greet. The library limits only how long TCP takes to connect. */
const GREETING_MS = 5000

/** The caller's connection. */
export function directWire(client: NodeRedisClient): Wire {
  const watch: Watch = (listener) => watchShared(client, listener, (all) => watchState(client, all))
  return {
    get isReady() {
      return client.isReady
    },
    get isClosed() {
      return !client.isOpen
    },
    send(args) {
      // The library says what is wrong with a client that was closed, or was not connected.
      if (client.isReady || !client.isOpen) return client.sendCommand(args)
      return onceReady(watch, () => client.sendCommand(args))
    },
    watchState: watch,
  }
}

type Watch = (listener: StateListener) => () => void

/**
 * Sends when the connection is ready, or fails as the connection does. The library would send the
 * commands that it keeps right behind AUTH and SELECT, even where these fail. The store might then
 * take a lock in another database, or as another user.
 */
function onceReady(watch: Watch, send: () => Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const stop = watch({
      // At once, so that what waits here is sent in the order in which it came.
      ready() {
        stop()
        resolve(send())
      },
      lost(error) {
        stop()
        reject(error instanceof Error ? error : new Error('The connection is closed'))
      },
    })
  })
}

function watchState(client: NodeRedisClient, listener: StateListener): () => void {
  const onReady = (): void => listener.ready()
  const onError = (error?: unknown): void => listener.lost(error)
  const onEnd = (): void => listener.lost()
  client.on('ready', onReady)
  client.on('error', onError)
  client.on('end', onEnd)
  return () => {
    client.off('ready', onReady)
    client.off('error', onError)
    client.off('end', onEnd)
  }
}

/**
 * A connection that never comes back: when it breaks, another one is made in its place, until it is
 * dropped.
 */
export class ReconnectingWire implements Wire {
  readonly #make: () => NodeRedisDuplicate
  readonly #listeners = new Set<StateListener>()
  #client: NodeRedisDuplicate | undefined
  #failures = 0
  /** Until the next attempt to connect, or until the server has taken too long to greet. */
  #timer: NodeJS.Timeout | undefined

  /** @param make a client that will not connect again by itself, and is not connected yet */
  constructor(make: () => NodeRedisDuplicate) {
    this.#make = make
  }

  get isReady(): boolean {
    return this.#client?.isReady === true
  }

  /** Rejects at once while there is no connection and none is being made. */
  send(args: string[]): Promise<unknown> {
    const client = this.#client
    if (!client) return Promise.reject(new Error('The connection is closed'))
    if (client.isReady) return client.sendCommand(args)
    return onceReady(
      (listener) => this.watchState(listener),
      () => client.sendCommand(args),
    )
  }

  watchState(listener: StateListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Connects, unless it is connected or connecting, or about to retry. */
  open(): void {
    if (this.#client || this.#timer) return
    const client = this.#make()
    this.#client = client
    client.on('connect', () => this.#awaitGreeting(client))
    client.on('error', (error) => this.#lose(client, error))
    client.on('end', () => this.#lose(client))
    client.on('ready', () => this.#onReady(client))
    client.connect().catch((error: unknown) => this.#lose(client, error))
  }

  /** Closes the connection. It can be opened again. */
  drop(): void {
    const client = this.#client
    this.#forget()
    this.#tellLost()
    if (client) destroy(client)
  }

  #awaitGreeting(client: NodeRedisDuplicate): void {
    if (this.#client !== client) return
    const error = new Error(`The server has not greeted within ${GREETING_MS} ms`)
    this.#timer = setTimeout(() => this.#lose(client, error), GREETING_MS).unref()
  }

  #onReady(client: NodeRedisDuplicate): void {
    if (this.#client !== client) return
    this.#stopTimer()
    this.#failures = 0
    for (const listener of this.#listeners) listener.ready()
  }

  #lose(client: NodeRedisDuplicate, error?: unknown): void {
    if (this.#client !== client) return
    this.#forget()
    const retryMs = Math.min((this.#failures += 1) * 50, LONGEST_RETRY_MS)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.open()
    }, retryMs).unref()
    // Listeners learn the reason before the calls in flight fail for want of a connection.
    this.#tellLost(error)
    destroy(client)
  }

  #tellLost(error?: unknown): void {
    for (const listener of this.#listeners) listener.lost(error)
  }

  #forget(): void {
    this.#client = undefined
    this.#stopTimer()
  }

  #stopTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}

/** A connection of the store's own, which is used as soon as it is made. */
export function duplicateOnce<T extends NodeRedisDuplicate>(client: Duplicable<T>): T {
  const { socket, commandOptions }: Settings = client.options ?? {}
  const own = client.duplicate({
    // Without a strategy the library does not connect again, and rejects what it still has.
    socket: { ...socket, reconnectStrategy: false },
    disableOfflineQueue: false,
    // With `asap` the library would send the last command first, and EXEC before its MULTI.
    commandOptions: { ...commandOptions, asap: false },
  })
  // The pending calls of the runtime keep the process alive: see `unref.ts`.
  own.unref()
  return own
}

interface Settings {
  readonly socket?: object
  readonly commandOptions?: object
}

interface Duplicable<T> {
  readonly options?: object | undefined
  duplicate(override: NodeRedisOverride): T
}

/** A connection that was never made cannot be destroyed, says the library. */
export function destroy(client: { destroy(): void }): void {
  try {
    client.destroy()
  } catch {
    // It is closed already.
  }
}
