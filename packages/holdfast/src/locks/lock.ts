/** What every kind of lock has in common: `run`, `acquire` and `tryAcquire`. */
import { withCallerFrames } from '../async/caller-frames.js'
import { storeCall } from '../async/keep-alive.js'
import { Acquirer } from '../lease/acquirer.js'
import type { Client } from '../lease/client.js'
import type { HeldLease } from '../lease/hold/held-lease.js'
import type { Lease } from '../lease/hold/lease.js'
import { noteCaller } from '../lease/hold/note-caller.js'
import { LOCK_STORE, type InternalLock } from '../lease/internal-lock.js'
import type { AcquireOptions, LockSettings, RunOptions } from '../options/lock-options.js'
import type { AwaitedClaim } from '../lease/runtime/open-waits.js'
import { acquireTrace, type AcquireTrace } from '../lease/runtime/acquire-trace.js'
import type { ClaimTemplate } from '../lease/runtime/runtime.js'
import { checkNoOptions } from '../options/known-keys.js'
import type { Store } from '../store/contract.js'
import { runAtLeast } from './at-least.js'
import { inspectLock, type LockState } from './look-up.js'

/** Something that can be locked. `L` is the kind of lease that it gives. */
export interface Lockable<L extends Lease = Lease> {
  /** The full name, namespace included. */
  readonly name: string
  /**
   * Runs `work` under the lock and gives it back. A nested run on a lock that this async context
   * holds re-enters with `reentrant: true`, and fails at once without it. A reader always enters, a
   * writer never inside of a reader.
   * With `atLeastMs` the lock stays taken for at least that long after the grant.
   * @throws LockTimeoutError when the lock was not granted within `waitMs`.
   * @throws LockQueueFullError when `maxWaiters` callers wait already.
   * @throws LockLostError when the lease ended before `work` did; its own error is the cause.
   * @throws LockUsageError when waiting would never end, or the arguments make no sense.
   * @throws StoreUnavailableError when the store cannot be reached.
   */
  run<T>(work: (lease: L) => T | PromiseLike<T>, options?: RunOptions): Promise<T>
  /**
   * Waits for the lock and returns the lease, which the caller has to release. Throws as `run`
   * does.
   */
  acquire(options?: AcquireOptions): Promise<L>
  /**
   * Takes the lock if it is free now, or within `waitMs`; undefined if it is busy. Throws otherwise
   * as `acquire` does.
   */
  tryAcquire(options?: AcquireOptions): Promise<L | undefined>
  /**
   * Takes over the lease that `lease.export()` detached, with a larger token. The handle is used
   * up.
   * @throws LockLostError when the lease has ended, or was adopted already.
   * @throws LockUsageError for a damaged handle, one of another store or lock, or one of a reader
   * where a writer adopts, or the reverse.
   * @throws UnsupportedLockError on stores that cannot pass leases on, and on etcd when the tokens
   * of the lease are used up.
   * @throws StoreUnavailableError when the outcome is unknown, and while a transaction of the
   * exporter still covers the lease.
   */
  adopt(handle: string): Promise<L>
  /**
   * Returns the holders and waiters of this lock, as the store sees them. It sends one request.
   * @throws UnsupportedLockError on stores without `inspect`.
   * @throws StoreUnavailableError when the store does not answer.
   */
  inspect(): Promise<LockState>
}

/** A lock of one shape. What its leases can do beyond a `Lease` shows in the types of locks. */
export class BasicLock implements Lockable<HeldLease>, InternalLock {
  readonly name: string
  readonly #client: Client
  readonly #template: ClaimTemplate
  readonly #settings: LockSettings
  readonly #acquirer: Acquirer

  constructor(client: Client, template: ClaimTemplate, settings: LockSettings) {
    this.name = template.lock
    this.#client = client
    this.#template = template
    this.#settings = settings
    this.#acquirer = new Acquirer(client, template, settings)
  }

  get [LOCK_STORE](): Store {
    return this.#client.runtime.store
  }

  /** @internal */
  get client(): Client {
    return this.#client
  }

  /** @internal */
  get template(): ClaimTemplate {
    return this.#template
  }

  /** @internal */
  get settings(): LockSettings {
    return this.#settings
  }

  /** @internal */
  get pending(): AwaitedClaim | undefined {
    return this.#acquirer.pending
  }

  run<T>(work: (lease: HeldLease) => T | PromiseLike<T>, options?: RunOptions): Promise<T> {
    const trace = this.trace(options)
    return trace
      ? trace.run(() => this.runFor(trace, work, options))
      : this.runFor(undefined, work, options)
  }

  acquire(options?: AcquireOptions): Promise<HeldLease> {
    try {
      const trace = this.trace(options)
      const lease = trace
        ? trace.acquire(() => this.acquireFor(trace, options))
        : this.acquireFor(undefined, options)
      return Promise.resolve(
        this.#client.tracesAcquires ? noteCaller(lease, this, 'acquire') : lease,
      )
    } catch (error) {
      return Promise.reject(withCallerFrames(error, 1))
    }
  }

  async tryAcquire(options?: AcquireOptions): Promise<HeldLease | undefined> {
    const trace = this.trace(options)
    const lease = trace
      ? trace.acquire(() => this.tryAcquireFor(trace, options))
      : this.tryAcquireFor(undefined, options)
    if (this.#client.tracesAcquires) return noteCaller(lease, this, 'tryAcquire')
    // A stack finds the caller through what is awaited. Without a trace it begins there.
    return trace ? await lease : lease
  }

  /** Returns a trace for a call, if subscribers want one. */
  trace(options?: AcquireOptions): AcquireTrace | undefined {
    return acquireTrace(this.#client.runtime, this.#template, options)
  }

  /** @internal As `run`, for a call with this trace. */
  runFor<T>(
    trace: AcquireTrace | undefined,
    work: (lease: HeldLease) => T | PromiseLike<T>,
    options?: RunOptions,
  ): Promise<T> {
    if (options?.atLeastMs === undefined) return this.#acquirer.run(work, options, trace)
    const { template, settings } = this
    return runAtLeast(this.#client, { template, settings, trace }, work, options)
  }

  /** @internal As `acquire`, for a call with this trace. */
  acquireFor(
    trace: AcquireTrace | undefined,
    options?: AcquireOptions,
  ): HeldLease | Promise<HeldLease> {
    return this.#acquirer.acquire(options, trace)
  }

  /** @internal As `acquire`, without a trace. */
  acquireUntraced(options: AcquireOptions): HeldLease | Promise<HeldLease> {
    const lease = this.acquireFor(undefined, options)
    return this.#client.tracesAcquires ? noteCaller(lease, this, 'acquireUntraced') : lease
  }

  /** @internal As `tryAcquire`, for a call with this trace. */
  tryAcquireFor(
    trace: AcquireTrace | undefined,
    options?: AcquireOptions,
  ): Promise<HeldLease | undefined> {
    return this.#acquirer.tryAcquire(options, trace)
  }

  async inspect(extra?: unknown): Promise<LockState> {
    checkNoOptions('inspect', extra, { lock: this.name })
    return storeCall(inspectLock(this.#client, this.#template))
  }

  async adopt(handle: string, extra?: unknown): Promise<HeldLease> {
    checkNoOptions('adopt', extra, { lock: this.name })
    const trace = this.trace()
    const lease = trace
      ? trace.acquire(() => this.adoptExported(handle))
      : this.adoptExported(handle)
    return this.#client.tracesAcquires ? noteCaller(lease, this, 'adopt') : lease
  }

  /** @internal As `adopt`, without a trace. */
  adoptExported(handle: string): Promise<HeldLease> {
    return this.#acquirer.adopt(handle)
  }
}
