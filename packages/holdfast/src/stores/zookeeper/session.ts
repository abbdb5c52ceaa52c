/**
 * A session with ZooKeeper: the one place where clients are made.
 *
 * The official client reconnects by itself, and sends signs of life of its own, whose answers it does not show. So what is
 * known here is only what our own requests were answered. When the session expires the client says `close`, without a reason,
 * and some of its promises never settle: every request is therefore raced against that, and against a timeout.
 */
import { StoreUnavailableError } from '../../errors.js'
import type { PortSession } from '../sequenced/port.js'
import { loadLibrary, type NativeClient, type Stat } from './client.js'
import { asFailure, asLockError, CODES, isSessionGone, ZooKeeperFailure } from './failures.js'
import type { ZooKeeperOptions } from './options.js'

/** How long one request may take, in milliseconds. */
const REQUEST_MS = 4000
/** How long to pause before another client is made, in milliseconds. */
const RECONNECT_MS = 100

export class ZooKeeperSession implements PortSession {
  readonly id: string
  readonly connect: string
  readonly #client: NativeClient
  readonly #pending = new Set<(error: unknown) => void>()
  /** What could not be taken out when that was asked for: it is done when the connection is back. */
  readonly #debts = new Set<() => Promise<unknown>>()
  #lost = false
  #connected = true

  private constructor(client: NativeClient, connect: string) {
    this.#client = client
    this.id = client.client_id
    this.connect = connect
    client.on('close', () => this.#end())
    client.on('connecting', () => void (this.#connected = false))
    client.on('connect', () => {
      this.#connected = true
      this.#payDebts()
    })
  }

  /** @throws StoreUnavailableError when no server answers, or when they grant another timeout than this one. */
  static async open(options: ZooKeeperOptions, timeoutMs: number): Promise<ZooKeeperSession> {
    const { connect, auth } = options
    const client = await openClient(options, timeoutMs)
    if (auth) client.add_auth(auth.scheme, `${auth.user}:${auth.password}`, () => undefined)
    if (client.timeout === timeoutMs) return new ZooKeeperSession(client, connect)
    const granted = client.timeout
    client.close()
    throw new StoreUnavailableError(
      `ZooKeeper at ${connect} grants no session of ${timeoutMs} ms; it would make it ${granted} ms. ` +
        `Use a ttlMs that is ${granted < timeoutMs ? 'shorter' : 'longer'} by ${Math.abs(timeoutMs - granted)} ms, ` +
        'or change minSessionTimeout and maxSessionTimeout of the servers.',
      { code: 'STORE_CONFIG', store: 'zookeeper' },
    )
  }

  get lost(): boolean {
    return this.#lost
  }

  /** Whether it can be asked now: after all servers have refused, the client pauses for a third of the session. */
  get connected(): boolean {
    return this.#connected && !this.#lost
  }

  /**
   * `sync` goes to the leader and asks it whether the session is still there; a read would be answered by a server that has
   * lost touch with it.
   */
  async keepAlive(): Promise<boolean> {
    try {
      await this.ask((client) => client.sync('/'))
      return !this.#lost
    } catch (error) {
      if (this.#lost || isSessionGone(error)) return false
      throw asLockError(error, this.connect)
    }
  }

  async end(): Promise<void> {
    if (this.#lost) return
    this.#end()
    this.#client.close()
  }

  /**
   * Makes a request, and rejects with a `ZooKeeperFailure` when it fails, is not answered, or the session ends.
   * @param late told of a success that nobody waited for any more: the client keeps requests while it has no connection
   */
  ask<T>(request: (client: NativeClient) => Promise<T>, late?: (value: T) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#lost) {
        reject(new ZooKeeperFailure(CODES.sessionExpired, 'the session is over'))
        return
      }
      const fail = (error: unknown): void => {
        clearTimeout(timer)
        this.#pending.delete(fail)
        reject(error instanceof ZooKeeperFailure ? error : asFailure(error))
      }
      const timer = setTimeout(
        () => fail(new ZooKeeperFailure(CODES.timeout, `no answer within ${REQUEST_MS} ms`)),
        REQUEST_MS,
      )
      this.#pending.add(fail)
      request(this.#client).then((value) => {
        clearTimeout(timer)
        if (this.#pending.delete(fail)) resolve(value)
        else late?.(value)
      }, fail)
    })
  }

  /** Calls back once, when a node changes or goes, or when that can no longer be seen. */
  watch(path: string, changed: () => void): void {
    this.ask<Stat>((client) => client.w_exists(path, changed)).catch(changed)
  }

  /** Does it again when the connection is back; the session would keep alive what was left behind. */
  owe(debt: () => Promise<unknown>): void {
    this.#debts.add(debt)
  }

  #payDebts(): void {
    for (const debt of this.#debts) {
      this.#debts.delete(debt)
      debt().catch(() => void this.#debts.add(debt))
    }
  }

  #end(): void {
    this.#lost = true
    const ended = new ZooKeeperFailure(CODES.sessionExpired, 'the session is over')
    for (const fail of this.#pending) fail(ended)
  }
}

/** Connects, with another client when one gives up: a server that is just starting or losing its leader ends sessions. */
async function openClient(options: ZooKeeperOptions, timeoutMs: number): Promise<NativeClient> {
  const library = await loadLibrary()
  const { connect, connectTimeoutMs = 4000 } = options
  const endMs = performance.now() + connectTimeoutMs
  for (;;) {
    const client = library.make({
      connect,
      timeout: timeoutMs,
      debug_level: 0,
      host_order_deterministic: false,
      data_as_buffer: true,
      // The addon counts events that bring nothing, and ends a healthy session after a few of them.
      response_counter_limit: 10_000,
    })
    if (await connected(client, endMs - performance.now())) return client
    if (performance.now() + RECONNECT_MS < endMs) {
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS))
      continue
    }
    throw new StoreUnavailableError(
      `ZooKeeper at ${connect} did not answer within ${connectTimeoutMs} ms. Look at the servers and the network.`,
      { store: 'zookeeper' },
    )
  }
}

/** Resolves to whether a session was made within the limit. */
function connected(client: NativeClient, limitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      // Told first, since the client says "close" while it is being closed.
      resolve(false)
      client.close()
    }, limitMs)
    for (const event of ['connect', 'close'] as const) {
      client.on(event, () => {
        clearTimeout(timer)
        resolve(event === 'connect')
      })
    }
    client.init({})
  })
}
