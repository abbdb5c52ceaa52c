/**
 * A Redis server over HTTP. There is no connection: each request that fails counts as one that
 * broke, since what was sent over it may still arrive.
 */
import type { Clock, Timer } from '../../../../../clock/clock.js'
import { LockUsageError } from '../../../../../errors.js'
import { isServerError, isUnknownScript, STORE_NAME } from '../../../errors.js'
import { probe, type Script } from '../../../rule/scripts.generated.js'
import { textOf } from '../../../wire/answers.js'
import { KeptSubscription } from '../channel-connection.js'
import type {
  ChannelConnection,
  ChannelListener,
  OwnConnection,
  ScriptForm,
  StateListener,
  Transport,
} from '../transport.js'
import { RestEndpoint, RestRefusal } from './endpoint.js'
import { listen } from './event-stream.js'
import type { RestSettings } from './settings.js'

/** How long calls wait before they are sent again. The pause doubles while requests fail. */
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1000
/** How long a stream stays open without a waiter. An open one keeps the process alive. */
const LINGER_MS = 1000

/** The endpoints of this process whose servers have all that the scripts need. */
const probed = new Set<string>()

export interface RestTransportSettings extends RestSettings {
  readonly requestTimeoutMs: number
  /** Begins the name of the key that the probe uses. */
  readonly prefix: string
  readonly clock: Clock
}

export class RestTransport implements Transport {
  readonly keyPrefix = ''
  readonly lingerMs = LINGER_MS
  readonly #settings: RestTransportSettings
  readonly #endpoint: RestEndpoint
  readonly #listeners = new Set<StateListener>()
  #isReady = false
  #failures = 0
  #pause: Timer | undefined
  #probing: Promise<void> | undefined
  /** The requests without an answer yet. */
  readonly #open = new Set<Promise<unknown>>()

  constructor(settings: RestTransportSettings) {
    const { requestTimeoutMs, clock } = settings
    this.#settings = settings
    this.#endpoint = new RestEndpoint(settings, requestTimeoutMs, clock)
  }

  get isReady(): boolean {
    return this.#isReady
  }

  readonly run = (
    by: ScriptForm,
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> => {
    if (probed.has(this.#settings.url)) return this.#eval(by, script, keys, args)
    this.#probing ??= this.#probe()
    return this.#probing.then(() => this.#eval(by, script, keys, args))
  }

  command(name: string, ...args: string[]): Promise<unknown> {
    return this.#send([name, ...args])
  }

  /** Only the answer shows that a request has left: `fetch` reports nothing before. */
  written(): Promise<void> | undefined {
    if (this.#open.size === 0) return undefined
    return Promise.allSettled(this.#open).then(() => undefined)
  }

  watchState(listener: StateListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** No request waits for replicas: WAIT is about a connection. */
  connect(): OwnConnection {
    throw new LockUsageError('redisStore: replicas cannot be asked over HTTP (minReplicas).', {
      store: STORE_NAME,
    })
  }

  listen(channel: string, listener: ChannelListener): ChannelConnection {
    return new KeptSubscription(
      (subscriber) => listen(this.#endpoint, channel, subscriber),
      listener,
    )
  }

  close(): void {
    this.#pause?.cancel()
  }

  #eval(
    by: ScriptForm,
    { sha, source }: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> {
    const [name, text] = by === 'hash' ? ['EVALSHA', sha] : ['EVAL', source]
    return this.#send([name, text, String(keys.length), ...keys, ...args])
  }

  #send(command: readonly string[]): Promise<unknown> {
    const sent = this.#ask(command)
    this.#open.add(sent)
    const settled = (): void => void this.#open.delete(sent)
    sent.then(settled, settled)
    return sent
  }

  async #ask(command: readonly string[]): Promise<unknown> {
    try {
      const result = await this.#endpoint.send(command)
      this.#answered()
      return result
    } catch (error) {
      if (error instanceof RestRefusal) this.#answered()
      else this.#failed(error)
      throw error
    }
  }

  #answered(): void {
    this.#failures = 0
    this.#pause?.cancel()
    this.#setReady()
  }

  #setReady(): void {
    this.#pause = undefined
    if (this.#isReady) return
    this.#isReady = true
    for (const listener of this.#listeners) listener.ready()
  }

  #failed(error: unknown): void {
    const wasReady = this.#isReady
    this.#isReady = false
    for (const listener of this.#listeners) {
      // Before the first answer there is nothing to come back.
      if (wasReady) listener.lost(error)
      else listener.broken?.()
    }
    if (!wasReady) return
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures)
    this.#failures += 1
    this.#pause = this.#settings.clock.timer(pauseMs, () => this.#setReady())
  }

  /** The servers behind such endpoints are implementations of their own. */
  async #probe(): Promise<void> {
    const { url, prefix } = this.#settings
    try {
      const missing = textOf(await this.#probeOnce([`${prefix}:probe`]))
      if (missing !== '') {
        throw new RestRefusal(
          `UNSUITED The server behind this endpoint lacks what the scripts need: ${missing}`,
        )
      }
      probed.add(url)
    } finally {
      this.#probing = undefined
    }
  }

  async #probeOnce(keys: readonly string[]): Promise<unknown> {
    try {
      return await this.#eval('hash', probe, keys, [])
    } catch (error) {
      if (isServerError(error) && isUnknownScript(error))
        return this.#eval('source', probe, keys, [])
      throw error
    }
  }
}
