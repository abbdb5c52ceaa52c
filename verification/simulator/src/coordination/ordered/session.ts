/**
 * A session of a service like ZooKeeper, over one connection after the other. Watches end with
 * their connection.
 */
import type { Moment, ServiceSession } from 'holdfast/internal'
import { hasCode, OrderedFailure } from './failure.js'
import type { OrderedRequest } from './followers.js'
import {
  GREETING_MS,
  OrderedConnection,
  RIPE_MS,
  type OrderedGround,
  type PendingRequest,
} from './connection.js'
import { unavailable } from '../unavailable.js'

/** How long to pause before another connection, in milliseconds. */
const PAUSE_MS = 50
/** After how much time a sign of life is sent, in milliseconds. */
const PING_MS = 300
/** All tries of something together have the time of this many requests. */
const TRIES = 2

export class OrderedSession implements ServiceSession {
  readonly timeoutMs: number
  readonly #ground: OrderedGround
  /** The requests that wait for a connection. */
  readonly #waiting = new Set<PendingRequest>()
  readonly #watchers = new Map<string, Set<() => void>>()
  /** What could not be done: it is done when there is a connection again. */
  readonly #postponed = new Map<string, () => Promise<unknown>>()
  #id: bigint | undefined
  #connection: OrderedConnection | undefined
  #isLost = false

  private constructor(ground: OrderedGround, timeoutMs: number) {
    this.#ground = ground
    this.timeoutMs = timeoutMs
  }

  static async open(ground: OrderedGround, timeoutMs: number): Promise<OrderedSession> {
    const session = new OrderedSession(ground, timeoutMs)
    const { process, requestTimeoutMs } = ground
    const isOpen = await new Promise<boolean>((resolve) => {
      process.timer(TRIES * requestTimeoutMs, () => resolve(false))
      void session.#connect().then(() => resolve(true))
    })
    if (!isOpen) {
      session.#lose()
      throw unavailable('zookeeper-queue', 'no server took the session in time')
    }
    session.#ping()
    return session
  }

  get id(): bigint | undefined {
    return this.#id
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** Whether a server has it now. */
  get isConnected(): boolean {
    return this.#connection !== undefined && !this.#isLost
  }

  async keepAlive(_now: Moment, oldestMs: number): Promise<Moment | undefined> {
    try {
      let since = await this.agree()
      if (since.monotonicMs < oldestMs) {
        // After a pause of this process. By then the answer itself is a sign of life that counts.
        await this.#pause(RIPE_MS)
        since = await this.agree()
      }
      return this.#isLost ? undefined : since
    } catch (error) {
      if (this.#isLost || hasCode(error, 'session-expired')) return undefined
      throw asUnavailable(error)
    }
  }

  /** Resolves when a quorum has agreed, to a moment from which the timeout counts. */
  agree(): Promise<Moment> {
    return this.repeat(() => this.#ask({ kind: 'write', handle: () => undefined }, (_, at) => at))
  }

  async end(): Promise<void> {
    if (this.#isLost) return
    const { server, process } = this.#ground
    const id = this.#id
    const isConnected = this.#connection !== undefined && id !== undefined
    const ended = isConnected
      ? this.ask({ kind: 'write', handle: () => server.sessions.end(id) })
      : Promise.resolve()
    this.#isLost = true
    await new Promise<void>((resolve) => {
      ended.then(resolve, () => resolve())
      process.timer(GREETING_MS, resolve)
    })
    this.#lose()
  }

  /** Makes a request. Rejects with an `OrderedFailure`. */
  ask<T>(request: OrderedRequest<T>): Promise<T> {
    return this.#ask(request, (value) => value)
  }

  /** Runs something again for as long as connections break under it, within a limit. */
  async repeat<T>(run: () => Promise<T>): Promise<T> {
    const { process, requestTimeoutMs } = this.#ground
    const endMs = process.monotonicMs() + TRIES * requestTimeoutMs
    for (;;) {
      try {
        return await run()
      } catch (error) {
        if (!hasCode(error, 'connection-loss') || process.monotonicMs() > endMs) throw error
      }
    }
  }

  /** Calls back once, when the node changes or goes, or can no longer be seen. */
  async watch<T>(request: OrderedRequest<T>, key: string, changed: () => void): Promise<T> {
    const watchers = this.#watchers.get(key) ?? new Set()
    this.#watchers.set(key, watchers.add(changed))
    try {
      return await this.ask(request)
    } catch (error) {
      this.unwatch(key, changed)
      throw error
    }
  }

  unwatch(key: string, changed: () => void): void {
    this.#watchers.get(key)?.delete(changed)
  }

  /** Does it when there is a connection again. `name` names the work: it is done once. */
  doLater(name: string, work: () => Promise<unknown>): void {
    if (!this.#isLost) this.#postponed.set(name, work)
  }

  /** The network breaks the connection. A stopped process learns it later. */
  reset(): void {
    const connection = this.#connection
    if (connection) this.#ground.process.receive(() => connection.end())
  }

  #ask<T, R>(request: OrderedRequest<T>, resultOf: (value: T, since: Moment) => R): Promise<R> {
    return new Promise((resolve, reject) => {
      const pending: PendingRequest = {
        request,
        settle: (settled, since) => {
          try {
            resolve(resultOf(settled() as T, since))
          } catch (error) {
            if (hasCode(error, 'session-expired')) this.#lose()
            reject(error)
          }
        },
        fail: reject,
      }
      if (this.#isLost) reject(new OrderedFailure('session-expired'))
      else if (this.#connection) this.#connection.send(pending)
      else this.#wait(pending)
    })
  }

  #wait(pending: PendingRequest): void {
    const { process, requestTimeoutMs } = this.#ground
    this.#waiting.add(pending)
    process.timer(requestTimeoutMs, () => {
      if (this.#waiting.delete(pending)) pending.fail(new OrderedFailure('timeout'))
    })
  }

  /** Looks for a server that takes the session, until there is one or the session is over. */
  async #connect(): Promise<void> {
    while (!this.#isLost) {
      const opened = await OrderedConnection.open(this.#ground, this.#id, this.timeoutMs)
      if (opened === 'session-expired') this.#lose()
      else if (opened === 'no-server') await this.#pause(PAUSE_MS)
      else return this.#use(opened)
    }
  }

  #use(connection: OrderedConnection): void {
    if (this.#isLost) return
    this.#id = connection.id
    this.#connection = connection
    connection.listen({
      changed: (key) => this.#notify(key),
      down: () => {
        if (this.#connection !== connection) return
        this.#connection = undefined
        this.#notifyAll()
        void this.#connect()
      },
    })
    for (const pending of this.#waiting) connection.send(pending)
    this.#waiting.clear()
    const postponed = [...this.#postponed]
    this.#postponed.clear()
    for (const [name, work] of postponed) work().catch(() => this.doLater(name, work))
  }

  #lose(): void {
    this.#isLost = true
    const connection = this.#connection
    this.#connection = undefined
    connection?.end()
    for (const { fail } of this.#waiting) fail(new OrderedFailure('session-expired'))
    this.#waiting.clear()
    this.#postponed.clear()
    this.#notifyAll()
  }

  #notify(key: string): void {
    const watchers = this.#watchers.get(key) ?? []
    this.#watchers.delete(key)
    for (const changed of watchers) changed()
  }

  #notifyAll(): void {
    for (const key of [...this.#watchers.keys()]) this.#notify(key)
  }

  #ping(): void {
    this.#ground.process.timer(PING_MS, () => {
      if (this.#isLost) return
      if (this.#connection) {
        this.ask({ kind: 'read', handle: () => undefined }).catch(() => undefined)
      }
      this.#ping()
    })
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#ground.process.timer(ms, resolve))
  }
}

export function asUnavailable(error: unknown): unknown {
  return error instanceof OrderedFailure ? unavailable('zookeeper-queue', error.code) : error
}
