// Projects with an older `lib` lack it, and the declarations name it.
/// <reference lib="esnext.disposable" preserve="true" />
/** A lease as user code sees it. */
import type { LeaseNote } from './lease-note.js'

/** The options of `lease.renew`. */
export interface RenewOptions {
  /** How long the lease lasts without renewal from here on, in milliseconds. */
  readonly ttlMs?: number | undefined
}

/**
 * A granted lock. The client renews it in the background until the caller releases it. If renewal
 * fails, the lease ends at its deadline.
 */
export interface Lease extends AsyncDisposable {
  /** The full name of the lock. */
  readonly name: string
  /** The id of the claim. It names this lease in `inspect` and on the command line. */
  readonly claimId: string
  /**
   * Grows with every grant of this lock. Pass it to the protected resource, which refuses a smaller
   * one.
   */
  readonly token: bigint
  /** Whether the lock is still yours. Compared with the clock at each reading. */
  readonly held: boolean
  /** How long the lease lasts without another renewal, in milliseconds; 0 when it has ended. */
  readonly remainingMs: number
  /** Aborts when the lease is lost, at the latest by its deadline. The reason: `LockLostError`. */
  readonly signal: AbortSignal
  /**
   * Throws unless the lease is held, also right after a pause.
   * @throws LockLostError when the lease was lost.
   * @throws LockUsageError when it was released.
   */
  assertHeld(): void
  /**
   * Renews now, and resolves when the lease continues. A `ttlMs` applies from here on. If it is
   * shorter, the deadline comes nearer before the request leaves, also if no answer comes.
   * @throws LockLostError when the store no longer holds it for this owner.
   * @throws LockUsageError for a `ttlMs` that makes no sense.
   * @throws StoreUnavailableError when the outcome is unknown; the old deadline stands.
   */
  renew(options?: RenewOptions): Promise<void>
  /**
   * Resolves when the lease lasts for at least `ms` more milliseconds. Renews only if less remains.
   * @throws LockUsageError when the TTL or `maxHoldMs` does not allow that much.
   * @throws LockLostError when the lease has ended.
   * @throws StoreUnavailableError when the renewal gets no answer, or each answer comes too late.
   */
  ensure(ms: number): Promise<void>
  /**
   * Releases the lock. Resolves to `released` when it was held until now, and to `lost` when it had
   * ended before. May be repeated.
   * @throws StoreUnavailableError (`RELEASE_UNKNOWN`) when no answer came; the release continues
   * in the background.
   */
  release(): Promise<'released' | 'lost'>
  /** Runs `work` under this lease, as `lock.run` does: nested runs know of it. Does not release. */
  run<T>(work: (lease: Lease) => T | PromiseLike<T>): Promise<T>
  /**
   * Passes the lease to another process. Renews it, detaches it from this process and its session,
   * and resolves to a handle for `adopt`. From then on only its TTL ends it: this process neither
   * renews nor releases it, `held` is false, and `release` resolves to `lost`. The signal does not
   * abort: nothing was lost. A run that re-entered the lock shares its lease, and exports that of
   * the outer runs.
   * @throws UnsupportedLockError on stores that cannot; LockUsageError for the lease of
   * `locks.transaction`, whose lock stays with the transaction. Otherwise as `renew` does.
   */
  export(): Promise<string>
  /** Adds to what `inspect` shows, and waits until the store has it. Throws as `renew` does. */
  annotate(note: LeaseNote): Promise<void>
}

/** A writer's lease. */
export interface WriteLease extends Lease {
  /**
   * Turns the writer into a reader: other readers may join. A reader cannot become a writer again,
   * since two of them would deadlock.
   * @throws LockLostError when the lease has ended.
   */
  downgrade(): Promise<void>
}
