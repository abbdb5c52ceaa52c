/**
 * Sends requests to an etcd cluster. Each endpoint has one channel, and the next one serves when
 * the present one does not answer. It adds credentials, and makes errors that say what to do.
 */
import { setMaxListeners } from 'node:events'
import { systemClock, type Clock } from '../../../clock/clock.js'
import { storeClosed } from '../../../store/errors.js'
import { Channel, type CallOptions, type Stream, type StreamListener } from './channel.js'
import { Keys } from '../keys.js'
import type { EtcdOptions } from './endpoints.js'
import { asLockError, isAuthExpired, isDown, isWorthAnotherMember } from '../errors.js'
import { authRequest, METHODS, readToken } from '../wire/messages.js'

export interface RequestOptions {
  /** Ask another member when the outcome is in doubt: right for requests that may be done twice. */
  readonly repeatable: boolean
  /** Ask this endpoint and no other, by its number. */
  readonly endpoint?: number | undefined
  /** Do not let a member without a leader wait for one. */
  readonly needsLeader?: boolean | undefined
}

/** An answer, and the number of the endpoint that gave it. */
export interface Answer {
  readonly body: Buffer
  readonly endpoint: number
}

/** How long one member is given to answer, and how long all of them together, in milliseconds. */
const TRY_MS = 2000
const TOTAL_MS = 4500

/** How long to pause before another try, at first and in the end, in milliseconds. */
const PAUSE_MS = [25, 200] as const

/** How often a request is made with a new login: users may be changed several times in a row. */
const LOGINS = 3

export class Connection {
  /** Where the store keeps its keys. */
  readonly keys: Keys
  readonly clock: Clock
  readonly #options: EtcdOptions
  readonly #channels: readonly Channel[]
  #current = 0
  #token: string | undefined
  /** Logins in progress, by the number of the endpoint. */
  readonly #logins = new Map<number, Promise<string>>()
  readonly #closing = new AbortController()
  /** The number of requests in doubt since the beginning. */
  inDoubt = 0
  #hasAnswered = false

  constructor(options: EtcdOptions, clock: Clock = systemClock) {
    this.#options = options
    this.clock = clock
    this.keys = new Keys(options.prefix)
    setMaxListeners(0, this.#closing.signal)
    this.#channels = options.endpoints.map((endpoint) => new Channel(endpoint, options))
  }

  get endpoints(): readonly string[] {
    return this.#options.endpoints
  }

  async request(method: string, body: Buffer, options: RequestOptions): Promise<Buffer> {
    return (await this.ask(method, body, options)).body
  }

  /** The same, for callers that need to know which member has answered. */
  async ask(method: string, body: Buffer, options: RequestOptions): Promise<Answer> {
    const endMs = this.clock.monotonicMs() + TOTAL_MS
    const down = new Set<number>()
    for (let pauseMs: number = PAUSE_MS[0]; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS[1])) {
      const endpoint = options.endpoint ?? this.#current
      try {
        const answer = await this.#authorized(method, body, endpoint, endMs, options)
        this.#hasAnswered = true
        return { body: answer, endpoint }
      } catch (error) {
        const another = isWorthAnotherMember(error)
        if (another) {
          this.inDoubt += 1
          this.#leave(endpoint)
        }
        if (isDown(error)) down.add(endpoint)
        else down.delete(endpoint)
        // Where no member runs at all, the caller learns of it at once.
        const isAnyUp = down.size < this.#channels.length
        const again = another && isAnyUp && options.repeatable && options.endpoint === undefined
        if (!again || this.clock.monotonicMs() + pauseMs > endMs)
          throw asLockError(
            error,
            this.#options.endpoints[endpoint],
            this.keys.folder,
            this.#hasAnswered,
          )
        // Every member may be without a leader for a moment.
        await this.#pause(pauseMs)
      }
    }
  }

  /** Opens a stream to the present member, and goes to the next one when it fails. */
  async stream(method: string, listener: StreamListener): Promise<Stream> {
    const endpoint = this.#current
    const token = await this.#login(endpoint, this.clock.monotonicMs() + TRY_MS)
    // A member that has lost its leader ends the stream, rather than being silent forever.
    return this.#channel(endpoint).stream(
      method,
      { token, needsLeader: true },
      {
        message: (bytes) => listener.message(bytes),
        over: (why) => {
          if (why) {
            this.#forget(token)
            this.#leave(endpoint)
          }
          listener.over(why)
        },
      },
    )
  }

  close(): void {
    this.#closing.abort()
    for (const channel of this.#channels) channel.close()
  }

  /**
   * Logs in first, and again when etcd does not take the login any more: it ends without use, and
   * with a change of users.
   */
  async #authorized(
    method: string,
    body: Buffer,
    endpoint: number,
    endMs: number,
    { needsLeader = false }: RequestOptions,
  ): Promise<Buffer> {
    for (let tries = 1; ; tries += 1) {
      const token = await this.#login(endpoint, endMs)
      try {
        return await this.#ask(method, body, endpoint, endMs, { token, needsLeader })
      } catch (error) {
        if (token === undefined || !isAuthExpired(error) || tries === LOGINS) throw error
        this.#forget(token)
      }
    }
  }

  /**
   * Undefined without credentials. Callers share a login that is in progress: etcd is slow to check
   * a password.
   */
  #login(endpoint: number, endMs: number): Promise<string> | string | undefined {
    const { credentials } = this.#options
    if (!credentials || this.#token !== undefined) return this.#token
    let login = this.#logins.get(endpoint)
    if (!login) {
      const body = authRequest(credentials.user, credentials.password)
      login = this.#ask(METHODS.authenticate, body, endpoint, endMs, {
        token: undefined,
        needsLeader: false,
      })
        .then((answer) => (this.#token = readToken(answer)))
        .finally(() => this.#logins.delete(endpoint))
      this.#logins.set(endpoint, login)
    }
    return login
  }

  /** Another request may have logged in again since. */
  #forget(token: string | undefined): void {
    if (this.#token === token) this.#token = undefined
  }

  #ask(
    method: string,
    body: Buffer,
    endpoint: number,
    endMs: number,
    options: CallOptions,
  ): Promise<Buffer> {
    const leftMs = endMs - this.clock.monotonicMs()
    const timeoutMs = Math.max(1, Math.min(TRY_MS, leftMs))
    return this.#channel(endpoint).request(method, body, { ...options, timeoutMs })
  }

  /** Ends early when the store closes. */
  #pause(ms: number): Promise<void> {
    const { signal } = this.#closing
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel()
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = this.clock.timer(ms, end)
      if (signal.aborted) end()
      else signal.addEventListener('abort', end)
    })
  }

  /** The next request goes to the next member. */
  #leave(endpoint: number): void {
    if (this.#current === endpoint) this.#current = (endpoint + 1) % this.#options.endpoints.length
  }

  #channel(endpoint: number): Channel {
    const channel = this.#channels[endpoint]
    if (!channel || this.#closing.signal.aborted) throw storeClosed('etcd')
    return channel
  }
}
