/** The locks of one request: taken by `request.lock`, released when the request is over. */
import {
  LockUsageError,
  type AcquireOptions,
  type Lease,
  type Lockable,
  type Locks,
  type MultiLease,
  type MultiLock,
} from 'holdfast'
import { clientDisconnected, forResponse } from './http-errors.js'
import { checkTime, type Defaults, type RequestLockOptions } from './options.js'
import { firstOf, withSignal } from './request-lease.js'
import type { RequestProgress } from './request-progress.js'
import type { ResponseOutcome } from './response-end.js'

type AnyLease = Lease | MultiLease
type AnyLock = Lockable | MultiLock

/** What the requests of an application share. */
export interface Shared {
  readonly locks: Locks
  readonly defaults: Defaults
  /** The requests that hold a lock. */
  readonly holding: Set<RequestLocks>
}

export class RequestLocks {
  readonly #shared: Shared
  readonly #route: string
  readonly #controller = new AbortController()
  readonly #leases = new Set<AnyLease>()
  /** The leases by the names that the handler gave; undefined while it waits. */
  readonly #named = new Map<string, AnyLease | undefined>()
  readonly #over: Promise<void>
  #isOver = false
  #end: () => void = () => undefined

  constructor(shared: Shared, route: string, progress: RequestProgress) {
    this.#shared = shared
    this.#route = route
    this.#over = new Promise((resolve) => (this.#end = resolve))
    progress.listen(this)
  }

  async take(lock: unknown, options: RequestLockOptions): Promise<AnyLease> {
    const { retryAfterMs = this.#shared.defaults.retryAfterMs, ...rest } = options
    checkTime('retryAfterMs', retryAfterMs)
    const name = typeof lock === 'string' ? lock : undefined
    if (name !== undefined) this.#checkNew(name)
    try {
      const lease = await this.#acquire(this.#lockOf(lock), rest)
      if (name !== undefined) this.#named.set(name, lease)
      return withSignal(lease, this.#controller.signal)
    } catch (error) {
      if (name !== undefined) this.#named.delete(name)
      throw forResponse(error, retryAfterMs)
    }
  }

  /** Ends waits, and aborts the signal of the handler. Its leases stay until it has settled. */
  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  onResponseOver(outcome: ResponseOutcome): void {
    if (outcome === 'disconnected') this.abort(clientDisconnected())
  }

  onOver(): void {
    this.#isOver = true
    this.#end()
    this.#shared.holding.delete(this)
    for (const lease of this.#leases) void lease[Symbol.asyncDispose]()
  }

  /** Lets `close` of the client wait for this request, as it waits for callbacks of `run`. */
  holdThroughClose(): void {
    for (const lease of this.#leases)
      for (const one of 'leases' in lease ? lease.leases : [lease])
        one.run(() => this.#over).catch(ignore)
  }

  async #acquire(lock: AnyLock, options: AcquireOptions): Promise<AnyLease> {
    const { signal } = this.#controller
    const both = options.signal === undefined ? signal : firstOf(signal, options.signal)
    const { waitMs = this.#shared.defaults.waitMs } = options
    const lease = await lock.acquire({ ...options, waitMs, signal: both })
    if (this.#isOver) {
      await lease[Symbol.asyncDispose]()
      throw this.#overError()
    }
    this.#leases.add(lease)
    this.#shared.holding.add(this)
    return lease
  }

  #lockOf(lock: unknown): AnyLock {
    if (this.#isOver) throw this.#overError()
    if (typeof lock === 'string') return this.#shared.locks.mutex(lock)
    if (typeof (lock as Partial<AnyLock> | null | undefined)?.acquire === 'function')
      return lock as AnyLock
    throw new LockUsageError(
      'request.lock takes the name of a mutex, or a lock, such as app.locks.readWriteLock(name).read.',
    )
  }

  /** A request that waits for itself would find the lock busy at each try. */
  #checkNew(name: string): void {
    if (this.#named.has(name) && this.#named.get(name)?.held !== false)
      throw new LockUsageError(
        `${this.#route} asked for the lock "${name}" already in the same request: use the lease of its first call.`,
        { lock: name },
      )
    this.#named.set(name, undefined)
  }

  #overError(): unknown {
    const { signal } = this.#controller
    if (signal.aborted) return signal.reason
    return new LockUsageError(
      `${this.#route} has answered, and its handler has settled: request.lock has nothing left to hold a lock for. ` +
        'Await it in the handler, or use app.locks for work that outlives the request.',
    )
  }
}

function ignore(): void {}
