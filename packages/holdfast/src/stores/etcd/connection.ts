/**
 * Requests to an etcd cluster: one channel for each endpoint, the next one when the present one does not answer, credentials,
 * and errors that say what to do.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../clock/clock.js'
import { LockUsageError } from '../../errors.js'
import { Channel, type CallOptions, type Stream, type StreamListener } from './channel.js'
import type { EtcdOptions } from './options.js'
import { asLockError, isAuthExpired, isWorthAnotherMember } from './failures.js'
import { authRequest, METHODS, readToken } from './messages.js'

export interface RequestOptions {
  /** Ask another member when the outcome is unclear: right for whatever may be done twice. */
  readonly repeatable: boolean
  /** Ask this endpoint and no other, by its number. */
  readonly endpoint?: number
  /** Do not let a member without a leader wait for one. */
  readonly needsLeader?: boolean
}

/** How long one member is given to answer, and how long all of them together, in milliseconds. */
const TRY_MS = 2000
const TOTAL_MS = 4500

/** How long to pause before another try, at first and in the end, in milliseconds. */
const PAUSE_MS = [25, 200] as const

export class Connection {
  readonly #options: EtcdOptions
  readonly #channels: readonly Channel[]
  #current = 0
  #token: string | undefined
  #closed = false
  /** How many tries have ended without anybody knowing what became of them. */
  unclear = 0

  constructor(options: EtcdOptions) {
    this.#options = options
    this.#channels = options.endpoints.map((endpoint) => new Channel(endpoint, options))
  }

  get endpoints(): readonly string[] {
    return this.#options.endpoints
  }

  async request(method: string, body: Buffer, options: RequestOptions): Promise<Buffer> {
    const endMs = systemClock.monotonicMs() + TOTAL_MS
    for (let pauseMs: number = PAUSE_MS[0]; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS[1])) {
      const endpoint = options.endpoint ?? this.#current
      try {
        return await this.#authorized(method, body, endpoint, endMs, options)
      } catch (error) {
        const another = isWorthAnotherMember(error)
        if (another) {
          this.unclear += 1
          this.#leave(endpoint)
        }
        const again = another && options.repeatable && options.endpoint === undefined
        if (!again || systemClock.monotonicMs() + pauseMs > endMs)
          throw asLockError(error, this.#options.endpoints[endpoint])
        // Every member may be without a leader for a moment.
        await sleep(pauseMs)
      }
    }
  }

  /** Opens a stream to the present member, and goes to the next one when it fails. */
  async stream(method: string, listener: StreamListener): Promise<Stream> {
    const endpoint = this.#current
    if (this.#options.credentials && this.#token === undefined)
      await this.#authenticate(endpoint, systemClock.monotonicMs() + TRY_MS)
    // A member that has lost its leader ends the stream, rather than being silent for ever.
    return this.#channel(endpoint).stream(method, this.#callOptions(true), {
      message: (bytes) => listener.message(bytes),
      over: (why) => {
        if (why) {
          this.#token = undefined
          this.#leave(endpoint)
        }
        listener.over(why)
      },
    })
  }

  close(): void {
    this.#closed = true
    for (const channel of this.#channels) channel.close()
  }

  /** Logs in first, and once more when etcd has forgotten the login: its tokens end after a while without use. */
  async #authorized(
    method: string,
    body: Buffer,
    endpoint: number,
    endMs: number,
    { needsLeader = false }: RequestOptions,
  ): Promise<Buffer> {
    const ask = (): Promise<Buffer> => this.#ask(method, body, endpoint, endMs, needsLeader)
    if (!this.#options.credentials) return ask()
    if (this.#token === undefined) await this.#authenticate(endpoint, endMs)
    try {
      return await ask()
    } catch (error) {
      if (!isAuthExpired(error)) throw error
      await this.#authenticate(endpoint, endMs)
      return ask()
    }
  }

  async #authenticate(endpoint: number, endMs: number): Promise<void> {
    const { credentials } = this.#options
    if (!credentials) return
    this.#token = undefined
    const body = authRequest(credentials.user, credentials.password)
    this.#token = readToken(await this.#ask(METHODS.authenticate, body, endpoint, endMs, false))
  }

  #ask(method: string, body: Buffer, endpoint: number, endMs: number, needsLeader: boolean): Promise<Buffer> {
    const leftMs = endMs - systemClock.monotonicMs()
    const timeoutMs = Math.max(1, Math.min(TRY_MS, leftMs))
    return this.#channel(endpoint).request(method, body, { ...this.#callOptions(needsLeader), timeoutMs })
  }

  #callOptions(needsLeader: boolean): CallOptions {
    return { token: this.#token, needsLeader }
  }

  /** The next request goes to the next member. */
  #leave(endpoint: number): void {
    if (this.#current === endpoint) this.#current = (endpoint + 1) % this.#options.endpoints.length
  }

  #channel(endpoint: number): Channel {
    const channel = this.#channels[endpoint]
    if (!channel || this.#closed)
      throw new LockUsageError('The etcd store was closed.', { code: 'LOCKS_CLOSED', store: 'etcd' })
    return channel
  }
}
