/**
 * A lock that covers a transaction until its commit.
 *
 * A common error is to release the lock before the commit: the next holder then reads old data.
 * Here the release comes after the commit. A lease that ends while its transaction still runs does
 * not let the next holder in. The transaction has locked the guard row. The store grants the lock
 * only after that transaction has ended.
 */
import { forOneCaller } from '../async/caller-frames.js'
import { LockLostError, LockUsageError, UnsupportedLockError } from '../errors.js'
import type { HeldLease } from '../lease/hold/held-lease.js'
import type { Lease } from '../lease/hold/lease.js'
import { LOCK_STORE, type InternalLock } from '../lease/internal-lock.js'
import { ACQUIRE_KEYS, type AcquireOptions } from '../options/lock-options.js'
import { describe } from '../options/describe.js'
import { checkKeys } from '../options/known-keys.js'
import { noFunction } from '../options/no-function.js'
import type { Lockable } from '../locks/lock.js'
import type { TransactionGuard, GuardedLease, GuardQuery, Store } from '../store/contract.js'
import {
  checkTransactional,
  rolledBack,
  type Dialect,
  type TransactionalDatabase,
} from './database.js'
import { isAborted } from './errors.js'
import { ENDED_EARLY, withoutCheck } from './open-transaction.js'

/**
 * What a transaction needs of its lease, beyond what users see of it. A wrapper of a lease has to
 * pass it on.
 */
type Coverable = Pick<HeldLease, 'exclusive' | (typeof NEEDED)[number]>

const NEEDED = ['coverTransaction', 'requireStoreRelease', 'whenCallbacksSettled'] as const

/** How far a transaction has come. */
interface Progress {
  /** What the work resolves to. */
  working: Promise<unknown>
  isCommitting: boolean
}

/** Acquires, begins, works, commits, and only then releases. */
export async function transaction<L extends Lease, Tx, T>(
  store: Store,
  lock: Lockable<L>,
  db: TransactionalDatabase<Tx>,
  work: (tx: Tx, lease: L) => Promise<T>,
  options?: AcquireOptions,
): Promise<T> {
  const guard = guardFor(store, lock, db)
  if (typeof work !== 'function')
    throw noFunction(`locks.transaction of "${lock.name}"`, work, { lock: lock.name })
  if (options !== undefined) checkKeys('transaction', options, ACQUIRE_KEYS, { lock: lock.name })
  const lease = await coverable(await lock.acquire(options))
  lease.coverTransaction()
  const progress: Progress = { working: Promise.resolve(), isCommitting: false }
  try {
    return await runGuarded(guard, lease, db, work, progress)
  } catch (error) {
    if (error === (await failureOf(progress.working))) throw error
    // It may be the commit whose answer was lost, and which is still to be done. The guard keeps
    // the next holder waiting for that in the store. A local hand-off to a caller of this process
    // would not wait.
    lease.requireStoreRelease()
    // Reports a loss first here too, except for errors of the work itself. A loss during the commit
    // says nothing about its outcome: LockLostError would read as a rollback, and the caller would
    // repeat what may be committed.
    if (!progress.isCommitting) lease.assertHeld()
    throw error
  } finally {
    // A library may end the transaction while the work continues. `postgres` does so when the
    // connection has ended, and Knex when the work has ended the transaction. Nothing is released
    // under running code.
    await failureOf(progress.working)
    // As with `run`: what the work began and did not wait for, nested runs for instance, works
    // under the same lease.
    await lease.whenCallbacksSettled()
    // The outcome of the transaction stands. A failed release continues in the background, or the
    // lease expires.
    await lease.release().catch(() => undefined)
  }
}

/** Requests of one tick travel together, and fail with one error. */
async function isPrepared(guard: TransactionGuard, lease: GuardedLease): Promise<boolean> {
  try {
    return await guard.prepare(lease)
  } catch (error) {
    throw forOneCaller(error)
  }
}

/** Runs the work in a transaction that has locked the guard of its lease, and commits. */
function runGuarded<L extends Lease, Tx, T>(
  guard: TransactionGuard,
  lease: L,
  db: TransactionalDatabase<Tx>,
  work: (tx: Tx, lease: L) => Promise<T>,
  progress: Progress,
): Promise<T> {
  const covered = { lock: lease.name, id: lease.claimId, token: String(lease.token) }
  const lost = (): LockLostError =>
    new LockLostError('expired', { lock: lease.name, store: db.dialect })
  // The whole transaction is a callback, not only the work: `locks.close` waits for callbacks, and
  // then releases.
  return lease.run(async () => {
    if (!(await isPrepared(guard, covered))) throw lost()
    // The guard makes the same check, of this lease.
    return withoutCheck(db).transaction(async (tx) => {
      const query: GuardQuery = (sql, values) => db.query(tx, sql, values)
      if (!(await guard.begin(query, covered))) throw lost()
      // Enters the context again, since some libraries call back in another async context.
      const outcome = lease.run(() => work(tx, lease))
      progress.working = outcome
      const result = await outcome
      // Reports a loss first: the next waiter may have ended this session by then, and that failure
      // only follows from the loss.
      lease.assertHeld()
      if (!(await isStillOpen(guard, query, covered))) throw ended(lease)
      // A lease that ended before the work did rolls back. One that ends during the commit changes
      // nothing: the guard lasts until the commit is done.
      lease.assertHeld()
      progress.isCommitting = true
      return result
    })
  })
}

/** @throws LockError when that lock cannot cover a transaction of that database. */
function guardFor(
  store: Store,
  lock: Lockable,
  db: { readonly dialect: Dialect },
): TransactionGuard {
  checkLock(store, lock)
  const { transactionGuard: guard } = store
  if (!guard) {
    throw new UnsupportedLockError(
      `The leases of the ${store.name} store cannot cover a transaction: they are in no table of a database. ` +
        'Let the rows that are written check the fencing token.',
      { store: store.name, lock: lock.name },
    )
  }
  checkTransactional(db)
  if (db.dialect !== store.name) {
    throw new LockUsageError(
      `The lock is in ${store.name} and the transaction in ${db.dialect}: it can only be covered by one in the same database.`,
      { store: store.name, lock: lock.name },
    )
  }
  return guard
}

/** @throws LockUsageError for what is no single lock of this store. */
function checkLock(store: Store, lock: unknown): void {
  const candidate = (lock ?? {}) as Partial<Lockable & InternalLock>
  const { name, acquire, [LOCK_STORE]: storeOfLock = store } = candidate
  if (typeof acquire !== 'function' || typeof name !== 'string') {
    const what = typeof acquire === 'function' ? 'several locks at once' : describe(lock)
    throw new LockUsageError(
      `locks.transaction needs a single lock, such as locks.mutex('name'), and cannot cover ${what}.`,
      { store: store.name },
    )
  }
  // A wrapper of a lock need not name its store.
  if (storeOfLock === store) return
  throw new LockUsageError(
    `"${name}" is a lock of another store. Make it with the locks on which transaction is called.`,
    { store: store.name, lock: name },
  )
}

/** What it rejects with, when it has ended. */
function failureOf(working: Promise<unknown>): Promise<unknown> {
  return working.then(
    () => undefined,
    (error: unknown) => error,
  )
}

/**
 * Without it a transaction that had failed on the way would seem to commit, with most libraries.
 */
async function isStillOpen(
  guard: TransactionGuard,
  query: GuardQuery,
  lease: GuardedLease,
): Promise<boolean> {
  try {
    return await guard.isStillOpen(query, lease)
  } catch (error) {
    if (isAborted(error)) throw rolledBack(error)
    throw error
  }
}

function ended(lease: Lease): LockUsageError {
  return new LockUsageError(
    `${ENDED_EARLY} What was written after the end was not covered by the lock "${lease.name}".`,
    { lock: lease.name },
  )
}

/**
 * Returns the lease when a transaction can be covered by it. Releases any other, and rejects with a
 * LockUsageError.
 */
async function coverable<L extends Lease>(lease: L): Promise<L & Coverable> {
  try {
    checkExclusive(lease)
    const whole = lease as L & Coverable
    const missing = NEEDED.filter((member) => typeof whole[member] !== 'function')
    if (missing.length === 0) return whole
    throw new LockUsageError(
      `The lease on "${lease.name}" is a wrapper that lacks ${missing.join(', ')}. ` +
        'It cannot cover a transaction. Give locks.transaction a lock that createLocks made.',
      { lock: lease.name },
    )
  } catch (error) {
    await lease[Symbol.asyncDispose]()
    throw error
  }
}

/**
 * @throws LockUsageError for leases that others may share, whose tokens do not tell who comes
 * later.
 */
export function checkExclusive(lease: Lease): void {
  if ((lease as Partial<Coverable>).exclusive === true) return
  throw new LockUsageError(
    `The lease on "${lease.name}" may be shared. Only the token of a mutex or a writer is the largest of its lock.`,
    { lock: lease.name },
  )
}
