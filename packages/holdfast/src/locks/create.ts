// Projects with an older `lib` lack it, and the declarations name it.
/// <reference lib="esnext.disposable" preserve="true" />
/** `createLocks`: the entrance of the library. */
import { checkClock, checkRandom } from '../clock/clock.js'
import { LockUsageError } from '../errors.js'
import { Client } from '../lease/client.js'
import { detached } from '../async/async-context.js'
import { enclosingFrame } from '../lease/nesting/run-frames.js'
import { HeldLease } from '../lease/hold/held-lease.js'
import {
  CLIENT_KEYS,
  type AcquireOptions,
  type LockOptions,
  type LocksOptions,
} from '../options/lock-options.js'
import { describe } from '../options/describe.js'
import { checkKeys, checkNoOptions } from '../options/known-keys.js'
import type { Lease } from '../lease/hold/lease.js'
import type { StealResult, Store } from '../store/contract.js'
import { shownAs } from '../store/with-json.js'
import { checkName, fullName } from '../store/names.js'
import type { TransactionalDatabase } from '../transaction/database.js'
import { transaction } from '../transaction/transaction.js'
import { closeClient, useStore, type CloseOptions } from './close.js'
import type { Election } from './election.js'
import { LockElection } from './lock-election.js'
import type { Lockable } from './lock.js'
import type { InspectOptions, LocksPage } from './inspect-locks.js'
import type { PingOptions } from './look-up.js'
import { multi, type MultiLock } from './multi.js'
import { mutex, type Mutex } from './mutex.js'
import type { TickOptions, TickResult } from './once-per-tick.js'
import { readWriteLock, type ReadWriteLock } from './read-write-lock.js'
import { semaphore, type Semaphore, type SemaphoreOptions } from './semaphore.js'
import { singleFlight, type SingleFlight } from './single-flight.js'
import { withNamespace } from './namespace-of.js'
import { notOfSlot } from './slot-name.js'
import type { StealLockOptions } from './steal.js'
import { holdersOf, storeCalls } from './store-calls.js'
import { striped, type StripedLock, type StripedOptions } from './striped.js'

/** Locks over one store. */
export interface Locks extends AsyncDisposable {
  /** The store that `createLocks` was given. */
  readonly store: Store
  /** Unique to this `createLocks` call; stands in `inspect` and in events. */
  readonly clientId: string
  /**
   * A lock for one holder at a time. Clients of one name exclude each other.
   * ```js
   * await locks.mutex('order:42').run(async (lease) => {
   *   const order = await load(42)
   *   await ship(order, { signal: lease.signal, token: lease.token })
   * })
   * ```
   * @throws LockUsageError when the name or an option makes no sense.
   */
  mutex(name: string, options?: LockOptions): Mutex
  /**
   * A lock for many readers or one writer.
   * ```js
   * const settings = locks.readWriteLock('settings')
   * await settings.read.run(readStored) // beside other readers
   * await settings.write.run(buildAndStore) // alone
   * ```
   * @throws LockUsageError when the name or an option makes no sense.
   * @throws UnsupportedLockError on stores without readers-writer locks.
   */
  readWriteLock(name: string, options?: LockOptions): ReadWriteLock
  /**
   * A lock with a number of permits: as many holders at a time.
   * ```js
   * const workers = locks.semaphore('resize', { permits: 4 })
   * await workers.run(work)
   * await workers.run(work, { weight: 2 })
   * ```
   * @throws LockUsageError when the name or an option makes no sense.
   * @throws UnsupportedLockError on stores without semaphores.
   */
  semaphore(name: string, options: SemaphoreOptions): Semaphore
  /** Several locks as one, taken in the order of their names, all or none. */
  multi(locks: readonly Lockable[]): MultiLock
  /** One name over several mutexes, for many keys. */
  striped(name: string, options: StripedOptions): StripedLock
  /**
   * A candidate for the leadership of this name. One candidate of all leads at a time.
   * ```js
   * await locks.election('scheduler').lead(({ signal }) => schedule({ signal }))
   * ```
   * @throws LockUsageError when the name or an option makes no sense.
   */
  election(name: string, options?: LockOptions): Election
  /**
   * Lets one caller of many make a missing value, while the others wait and read it.
   * ```js
   * const report = await locks.singleFlight('report').run(buildAndStore, { read: readStored })
   * ```
   * @throws LockUsageError when the name or an option makes no sense.
   */
  singleFlight(name: string, options?: LockOptions): SingleFlight
  /**
   * Runs `work` unless another process does or did: for a cron job on several replicas whose clocks
   * differ. With `slot`, the time at which the run was due, each slot runs at most once. Its lock
   * stays taken, and the mutex of this name covers the run, which gets the lease of that. Without
   * `slot` the mutex stays taken for `atLeastMs` after the grant.
   * ```js
   * const slot = Math.floor(Date.now() / 60_000) * 60_000 // of a timer that fires each minute
   * await locks.oncePerTick('poll', work, { slot, atLeastMs: 10_000 })
   * ```
   * @throws UnsupportedLockError on ZooKeeper. Otherwise as `mutex.run` does.
   */
  oncePerTick<T>(
    name: string,
    work: (lease: Lease) => T | PromiseLike<T>,
    options: TickOptions,
  ): Promise<TickResult<T>>
  /**
   * Resolves to a page of the locks in use, with their holders and waiters, as the store sees them.
   * ```js
   * let cursor
   * do {
   *   const page = await locks.inspect({ prefix: 'order:', cursor })
   *   for (const { lock, holders } of page.locks) console.log(lock, holders.length)
   *   cursor = page.cursor
   * } while (cursor !== undefined)
   * ```
   */
  inspect(options?: InspectOptions): Promise<LocksPage>
  /**
   * Resolves when the store has answered one request that changes nothing: for health checks. One
   * server of a Cluster answers; of Redlock's servers a majority.
   * @throws StoreUnavailableError when the store does not answer, or refuses this client.
   */
  ping(options?: PingOptions): Promise<{ readonly latencyMs: number }>
  /**
   * Ends the leases on a lock. Their renewals are refused from now on, and the lock is free when
   * the holders let go or their leases end. It frees the lock; it does not acquire it.
   */
  steal(name: string, options?: StealLockOptions): Promise<StealResult>
  /**
   * Renews an exported lease by its handle, which stays usable. For scripts between `export` and
   * `adopt`.
   * @throws LockLostError when the lease has ended or was adopted.
   */
  renewHandle(handle: string): Promise<void>
  /**
   * Releases an exported lease by its handle. Resolves to `lost` when it had ended or was adopted.
   */
  releaseHandle(handle: string): Promise<'released' | 'lost'>
  /**
   * Runs `work` in a transaction that the lock covers until its commit: acquires, begins, works,
   * commits, and only then releases. No later holder starts before the commit, also when the lease
   * ends early. For stores in a database, with a database handle for the same database, and for
   * mutexes and writers.
   * @throws LockLostError when the lease ended before `work` did; the transaction was rolled back.
   * @throws UnsupportedLockError on stores that are not in a database. Otherwise as `run` does, or
   * what `work` throws.
   */
  transaction<L extends Lease, Tx, T>(
    lock: Lockable<L>,
    db: TransactionalDatabase<Tx>,
    work: (tx: Tx, lease: L) => Promise<T>,
    options?: AcquireOptions,
  ): Promise<T>
  /**
   * Returns the lease on this lock under which the current async context runs; undefined without
   * one. Only `run` and `lease.run` give a context a lease, `acquire` does not. The lease may be
   * lost already: see `assertHeld`.
   */
  current(name: string): Lease | undefined
  /**
   * Returns the lease on this lock under which the current async context runs.
   * @throws LockUsageError when this context runs under no lease on the lock, or a released one.
   * @throws LockLostError when the lease was lost.
   */
  assertHeld(name: string): Lease
  /** Runs `work` in a context that holds no lock: what it acquires waits like any other caller. */
  detached<T>(work: () => T): T
  /**
   * Closes the client: rejects the callers that wait, aborts the signals of held leases, waits up
   * to `graceMs` for callbacks, and releases. A callback that does not end in time keeps its lease
   * until that expires: no lock is released under running code. A store that does not answer delays
   * it for 15 s and one `requestTimeoutMs` of the store at most.
   */
  close(options?: CloseOptions): Promise<void>
}

/** Gives the full name of a lock, namespace included. */
type Named = (name: unknown) => string

/**
 * Makes a client of a store.
 * @throws LockUsageError when an option makes no sense.
 */
export function createLocks(store: Store, options: LocksOptions = {}): Locks {
  checkStore(store)
  checkKeys('createLocks', options, CLIENT_KEYS, { store: store.name })
  checkClock(options.clock)
  checkSameClock(store, options)
  checkRandom(options.random)
  return locksOf(new Client(store, options), options.namespace)
}

/** Returns what users call of a client. The simulator gives its clients a helper of its own. */
export function locksOf(client: Client, prefix?: string): Locks {
  const { store } = client.runtime
  const namespace = prefix === undefined ? '' : checkName(prefix, 'namespace')
  useStore(store)
  const named: Named = (name) => fullName(namespace, name)
  const { clientId } = client.runtime.owner
  const members: Locks = {
    store,
    clientId,
    ...kindsOfLocks(client, named),
    ...storeCalls(client, namespace, named),
    transaction: (lock, db, work, how) => transaction(store, lock, db, work, how),
    ...contextCalls(client, named),
    close: (how) => closeClient(client, how),
    [Symbol.asyncDispose]: () => closeClient(client),
  }
  // A store may hold a client of a server, with its password.
  return withNamespace(
    shownAs(members, () => ({ store: store.name, clientId })),
    namespace,
  )
}

/** The locks, and what is made of them. */
function kindsOfLocks(client: Client, named: Named) {
  const own: Named = (name) => notOfSlot(named(name))
  return {
    mutex: (name, lock) => mutex(client, own(name), lock),
    readWriteLock: (name, lock) => readWriteLock(client, own(name), lock),
    semaphore: (name, lock) => semaphore(client, own(name), lock),
    multi(locks, extra?: unknown) {
      checkNoOptions('multi', extra)
      return multi(client, locks)
    },
    striped: (name, lock) => striped(client, own(name), lock),
    election(name, lock) {
      const full = own(name)
      const holders = () => holdersOf(client, full)
      return new LockElection(client, mutex(client, full, lock, 'election'), holders)
    },
    singleFlight: (name, lock) => singleFlight(mutex(client, own(name), lock, 'singleFlight')),
  } satisfies Partial<Locks>
}

/** What the async context of a caller holds. */
function contextCalls(client: Client, named: Named) {
  function currentLease(lock: string): HeldLease | undefined {
    const lease = enclosingFrame(client, lock)?.lease
    return lease instanceof HeldLease ? lease : undefined
  }

  return {
    current(name, extra?: unknown) {
      checkNoOptions('current', extra)
      return currentLease(named(name))
    },
    assertHeld(name, extra?: unknown) {
      checkNoOptions('assertHeld', extra)
      const lock = named(name)
      const lease = currentLease(lock)
      if (!lease) throw notUnderLock(lock, client.runtime.store)
      lease.assertHeld()
      return lease
    },
    detached(work, extra?: unknown) {
      checkNoOptions('detached', extra)
      if (typeof work === 'function') return detached(work)
      throw new LockUsageError(`detached needs a function to call, not ${describe(work)}.`)
    },
  } satisfies Partial<Locks>
}

function notUnderLock(lock: string, store: Store): LockUsageError {
  return new LockUsageError(
    `This async context runs under no lease on "${lock}". Call it inside of run of that lock.`,
    { lock, store: store.name },
  )
}

function checkStore(store: unknown): void {
  const { attempt, traits } = (store ?? {}) as Partial<Store>
  if (typeof attempt === 'function' && typeof traits === 'object' && (traits as unknown) !== null) {
    checkFencing(store as Store)
    return
  }
  throw new LockUsageError(
    "createLocks needs a store as its first argument, such as memoryStore() of 'holdfast/memory', " +
      "embeddedStore() of 'holdfast/embedded' or redisStore({ client }) of 'holdfast/redis'.",
  )
}

/** With two clocks a wait or a lease would never end, or too early. */
function checkSameClock({ name, clock }: Store, options: LocksOptions): void {
  if (clock === undefined || options.clock === undefined || options.clock === clock) return
  throw new LockUsageError(
    'createLocks and its store have two clocks. Give the clock to the store alone, as in ' +
      'createLocks(testingStore({ clock })).',
    { store: name },
  )
}

/** Every lease has a token: a store without them would hand out `undefined`. */
function checkFencing({ name, traits }: Store): void {
  if (traits.fencing) return
  throw new LockUsageError(
    `createLocks: the store "${name}" gives no fencing tokens (traits.fencing is false), and every lease has one. ` +
      'Let the store give each grant of a lock a larger token.',
    { store: name },
  )
}
