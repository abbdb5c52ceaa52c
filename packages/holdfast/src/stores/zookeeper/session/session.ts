/**
 * A session with ZooKeeper, over one server after the other.
 *
 * A session outlives its connections: when one breaks, the next server is asked to continue it.
 * A request that was in flight then rejects at once with an unknown outcome. A later request is
 * sent if a server is found in time, and otherwise certainly never sent. The server alone decides
 * when a session is over, and reports it when the client asks to continue it.
 */
import { systemClock, systemRandom, type Clock } from '../../../clock/clock.js'
import { pause } from '../../../clock/pause.js'
import { settlesWithin } from '../../../clock/settles-within.js'
import { StoreUnavailableError } from '../../../errors.js'
import type { Moment } from '../../coordination/connection/moment.js'
import type { Exactness, ServiceSession } from '../../coordination/connection/service.js'
import type { Connection } from '../connection/connection.js'
import {
  asLockError,
  CODES,
  hasCode,
  isSessionGone,
  noServer,
  ZooKeeperFailure,
} from '../errors.js'
import { ripeMs } from '../connection/life-signs.js'
import { NodeWatchers } from './node-watchers.js'
import { WireConnection, type PendingRequest } from '../connection/wire-connection.js'
import { DEFAULT_TICK_MS, parseConnect, type Ensemble, type ZooKeeperOptions } from '../options.js'
import { findServer, ReconnectBackoff, type Found } from './servers.js'
import { authFrame, check, CLOSE, getData, type Request, type Welcome } from '../wire/messages.js'

/** How long to look for a server that takes a session, in milliseconds. */
const CONNECT_MS = 4000
/** How long a request waits for a connection, in milliseconds. */
const WAIT_MS = 4000
/** How long a server may take over an answer, in milliseconds. Short sessions have less. */
const ANSWER_MS = 2500
/** How long to wait for the answer to the end of a session, in milliseconds. */
const CLOSE_ANSWER_MS = 1000

export class ZooKeeperSession implements ServiceSession {
  readonly id: bigint
  readonly connect: string
  readonly #options: ZooKeeperOptions
  readonly #ensemble: Ensemble
  readonly #welcome: Welcome
  /** The requests that wait for a connection. */
  readonly #waiting = new Set<PendingRequest>()
  readonly #watchers = new NodeWatchers()
  /**
   * What could not be taken out when that was asked for: it is done when the connection is back.
   */
  readonly #postponed = new Map<string, () => Promise<unknown>>()
  readonly #clock: Clock
  readonly #backoff: ReconnectBackoff
  #link: WireConnection | undefined
  #server: number
  #lastZxid = 0n
  #lost = false

  private constructor(
    options: ZooKeeperOptions,
    ensemble: Ensemble,
    { connection, server }: Found,
    clock: Clock,
  ) {
    this.#options = options
    this.#clock = clock
    this.#backoff = new ReconnectBackoff(clock)
    this.#ensemble = ensemble
    this.#welcome = connection.welcome
    this.#server = server
    this.id = connection.welcome.id
    this.connect = options.connect
    this.#useConnection(connection)
  }

  /**
   * @throws StoreUnavailableError when no server answers, or when they grant a timeout that is not
   * wanted.
   */
  static async open(
    options: ZooKeeperOptions,
    timeoutMs: number,
    exactness: Exactness | 'any',
    clock: Clock = systemClock,
  ): Promise<ZooKeeperSession> {
    const { connect, connectTimeoutMs = CONNECT_MS } = options
    const ensemble = parseConnect(connect)
    const endMs = clock.monotonicMs() + connectTimeoutMs
    const wanted = { timeoutMs, id: 0n, password: Buffer.alloc(16) }
    const start = Math.floor(systemRandom.next() * ensemble.servers.length)
    // Where no server runs at all, the caller learns of it at once.
    const goesOn = (down: boolean): boolean => !down && clock.monotonicMs() < endMs
    const greeting = { session: wanted, lastZxid: 0n, background: false, clock }
    const found = await findServer(ensemble, start, greeting, goesOn)
    if (!found.connection) {
      const isDown = clock.monotonicMs() < endMs
      throw noServer(connect, isDown ? undefined : connectTimeoutMs, found.why)
    }
    const session = new ZooKeeperSession(options, ensemble, found, clock)
    const granted = session.timeoutMs
    const accepted = exactness === 'any' || (exactness === 'or longer' && granted > timeoutMs)
    if (accepted || granted === timeoutMs) return session
    await session.end()
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

  get timeoutMs(): number {
    return this.#welcome.timeoutMs
  }

  /** Whether a server has it now. */
  get connected(): boolean {
    return this.#link !== undefined && !this.#lost
  }

  async keepAlive(_now: Moment, oldestMs: number): Promise<Moment | undefined> {
    try {
      let since = await this.agree()
      if (since.monotonicMs < oldestMs) {
        // After a pause of this process. By then the answer itself is a sign of life that counts.
        await pause(this.#clock, ripeMs(this.#tickMs), true)
        since = await this.agree()
      }
      return this.#lost ? undefined : since
    } catch (error) {
      if (this.#lost || isSessionGone(error)) return undefined
      throw asLockError(error, this.connect)
    }
  }

  /**
   * Resolves when a quorum has agreed, after this was called, that the session lives, to a moment
   * from which its timeout counts. What the session reads behind it is not older than the call. A
   * leader that has lost its followers, and does not know it yet, answers reads and `sync` by
   * itself. It would vouch for a session that its successor has ended.
   */
  async agree(): Promise<Moment> {
    const [code, since] = await repeat(this.#clock, () =>
      this.#ask(check('/'), (value, at) => [value, at] as const),
    )
    // Only the chroot may be missing or closed to this identity: the session was found alive
    // before.
    if (code !== 0 && code !== CODES.noNode && code !== CODES.noAuth)
      throw new ZooKeeperFailure(code)
    return since
  }

  get #tickMs(): number {
    return this.#options.tickMs ?? DEFAULT_TICK_MS
  }

  async end(): Promise<void> {
    if (this.#lost) return
    const link = this.#link
    this.#lose()
    if (!link) return
    const answered = new Promise<void>((resolve) => {
      link.send({ request: CLOSE, resolve: () => resolve(), reject: () => resolve() })
    })
    await settlesWithin(answered, CLOSE_ANSWER_MS, { clock: this.#clock, background: true })
    link.end()
  }

  /**
   * Makes a request. Rejects with a `ZooKeeperFailure` when it fails, is not answered, or the
   * session ends.
   */
  ask<T>(request: Request<T>): Promise<T> {
    return this.#ask(request, (value) => value)
  }

  /**
   * The same for a request that may be made twice: it is made again when the connection breaks
   * under it.
   */
  async askAgain<T>(request: Request<T>): Promise<T> {
    return repeat(this.#clock, () => this.ask(request))
  }

  /**
   * Resolves to what stands in a node, and calls back once, when it changes or goes, or when that
   * can no longer be seen. Rejects, and never calls back, when there is no such node or no
   * answer.
   */
  async watch(path: string, changed: () => void): Promise<string> {
    // Before the answer: what changes right after it comes with it.
    this.#watchers.add(path, changed)
    try {
      return (await this.ask(getData(path, true))).text
    } catch (error) {
      this.unwatch(path, changed)
      throw error
    }
  }

  /**
   * Calls no listener of this node back any more. The server keeps one watch for each node until it
   * changes, and its message is ignored.
   */
  unwatch(path: string, changed: () => void): void {
    this.#watchers.delete(path, changed)
  }

  /**
   * Does it again when the connection is back; the session would keep alive what was left behind.
   * @param key names the work: it is done once, however often it failed
   */
  doLater(key: string, work: () => Promise<unknown>): void {
    if (!this.#lost) this.#postponed.set(key, work)
  }

  #ask<T, R>(request: Request<T>, resultOf: (value: T, since: Moment) => R): Promise<R> {
    return new Promise((resolve, reject) => {
      const take = (value: unknown, since: Moment): void => resolve(resultOf(value as T, since))
      if (this.#lost) reject(new ZooKeeperFailure(CODES.sessionExpired))
      else this.#send({ request, resolve: take, reject })
    })
  }

  #send(pending: PendingRequest): void {
    if (this.#link) {
      this.#link.send(pending)
      return
    }
    const giveUp = (): void => {
      this.#waiting.delete(waiting)
      pending.reject(new ZooKeeperFailure(CODES.timeout, `no server within ${WAIT_MS} ms`))
    }
    // Of a pending call the runtime keeps the process alive, and of a held lease nothing does.
    const timer = this.#clock.timer(WAIT_MS, giveUp, true)
    const settled = <A extends unknown[]>(settle: (...args: A) => void): ((...args: A) => void) => {
      return (...args) => {
        timer.cancel()
        settle(...args)
      }
    }
    const waiting = {
      request: pending.request,
      resolve: settled(pending.resolve),
      reject: settled(pending.reject),
    }
    this.#waiting.add(waiting)
  }

  #useConnection(connection: Connection): void {
    const { auth } = this.#options
    if (auth) connection.send(authFrame(auth.scheme, `${auth.user}:${auth.password}`))
    this.#backoff.connected()
    const tickMs = this.#tickMs
    const thirdMs = this.#welcome.timeoutMs / 3
    const link: WireConnection = new WireConnection(
      connection,
      this.#ensemble.chroot,
      { tickMs, pingMs: Math.min(tickMs / 2, thirdMs), answerMs: Math.min(ANSWER_MS, thirdMs) },
      {
        changed: (path) => this.#watchers.notify(path),
        down: () => void this.#reconnect(),
      },
      this.#clock,
    )
    link.lastZxid = this.#lastZxid
    this.#link = link
    for (const pending of this.#waiting) link.send(pending)
    this.#waiting.clear()
    this.#doPostponed()
  }

  /** Looks for a server that continues the session. */
  async #reconnect(): Promise<void> {
    if (this.#link) this.#lastZxid = this.#link.lastZxid
    this.#link = undefined
    if (this.#lost) return
    this.#watchers.notifyAll()
    await this.#backoff.pause()
    const next = this.#server + 1
    const greeting = {
      session: this.#welcome,
      lastZxid: this.#lastZxid,
      background: true,
      clock: this.#clock,
    }
    const found = await findServer(this.#ensemble, next, greeting, () => !this.#lost)
    if (!found.connection) return
    const { connection, server } = found
    this.#server = server
    if (this.#lost) connection.end()
    // Services that only speak the protocol may hand out a new session for one that is over.
    else if (connection.welcome.timeoutMs > 0 && connection.welcome.id === this.id)
      this.#useConnection(connection)
    else {
      connection.end()
      this.#lose()
    }
  }

  #doPostponed(): void {
    const postponed = [...this.#postponed]
    this.#postponed.clear()
    for (const [key, work] of postponed) work().catch(() => this.doLater(key, work))
  }

  #lose(): void {
    this.#lost = true
    this.#link = undefined
    for (const { reject } of this.#waiting) reject(new ZooKeeperFailure(CODES.sessionExpired))
    this.#waiting.clear()
    this.#postponed.clear()
    this.#watchers.notifyAll()
  }
}

/**
 * Runs something again for as long as connections break under it, and for so long as a request may
 * take anyway.
 */
export async function repeat<T>(clock: Clock, run: () => Promise<T>): Promise<T> {
  const endMs = clock.monotonicMs() + WAIT_MS
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if (!hasCode(error, CODES.connectionLoss) || clock.monotonicMs() > endMs) throw error
    }
  }
}
