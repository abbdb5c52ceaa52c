/** A store in memory that a test directs: other holders, lost leases, stalled renewals, outages. */
import { checkClock, systemClock, type Clock } from '../clock/clock.js'
import { LockUsageError } from '../errors.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import { createLocks, type Locks } from '../locks/create.js'
import type { LockInfo, NamesPage, StealResult, Store } from '../store/contract.js'
import { checkName } from '../store/names.js'
import { memoryStore } from '../stores/memory/index.js'
import { FaultyStore, type Fate, type Message } from './faulty-store.js'

/** The options of `testingStore`. */
export interface TestingStoreOptions {
  /**
   * Time, such as a `VirtualClock`. The clients of the store have the same one. Default: the clock
   * of this process, which fake timers replace.
   */
  readonly clock?: Clock | undefined
}

const KEYS: KnownKeys<TestingStoreOptions> = { clock: 1 }

/** How many locks are searched for held ones, when a test names one that is not held. */
const MOST_NAMES = 10
const REFUSED: Fate = { drop: 'request', fails: true }

/**
 * Makes a store for the tests of a program. It keeps its locks in memory, as `memoryStore` does.
 *
 * @example
 * const clock = new VirtualClock()
 * const store = testingStore({ clock })
 * const locks = createLocks(store)
 * const other = await store.elsewhere.mutex('order:42').acquire() // by another process
 * const busy = await locks.mutex('order:42').tryAcquire() // undefined
 * await other.release()
 *
 * @throws LockUsageError when an option makes no sense.
 */
export function testingStore(options: TestingStoreOptions = {}): TestingStore {
  checkKeys('testingStore', options, KEYS)
  checkClock(options.clock)
  const { clock = systemClock } = options
  return new TestingStore(memoryStore({ clock }), clock)
}

/** A store in memory that a test directs. `testingStore` makes it. */
export class TestingStore extends FaultyStore {
  /**
   * The locks as another process sees them: what it takes is busy for the program under test. No
   * fault reaches it.
   */
  readonly elsewhere: Locks
  /** The clock that clients of this store have. */
  readonly clock: Clock
  readonly #memory: Store
  readonly #outages = new Set<object>()
  readonly #stalls = new Set<Stall>()

  /** @internal */
  constructor(memory: Store, clock: Clock) {
    super(memory, { clock })
    this.clock = clock
    this.#memory = memory
    this.elsewhere = createLocks(memory, { clock, label: 'another process' })
  }

  /**
   * Ends the leases that are held on a lock, as `holdfast steal` does. A holder learns it at its
   * next renewal: move the clock on by a third of the TTL, or give the lock a short `ttlMs`.
   * @param lock its name, with the namespace of the client
   * @param reason what the holder's `LockLostError` shows
   * @throws LockUsageError when no lease is held on the lock.
   */
  lose(lock: string, reason = 'the test took it'): void {
    checkName(lock, 'name of a lock')
    // The store in memory answers at once.
    const stolen = this.#memory.steal(lock, { now: false, reason }) as StealResult
    if (stolen.holders > 0) return
    const held = this.#heldLocks()
    throw new LockUsageError(
      `No lease is held on "${lock}", so none can be lost. ` +
        (held.length === 0
          ? 'Let the program acquire the lock first: await its lease, or clock.advance(0).'
          : `Held: ${held.map((name) => `"${name}"`).join(', ')}. Give the whole name, with its namespace.`),
      { lock, store: this.name },
    )
  }

  /**
   * Leaves renewals without an answer: of one lock, or of all. A lease that is not renewed ends at
   * its deadline.
   * @returns a function that delivers them, those that wait included
   */
  stallRenewals(lock?: string): () => void {
    const stall = new Stall(lock === undefined ? undefined : checkName(lock, 'name of a lock'))
    this.#stalls.add(stall)
    return () => {
      this.#stalls.delete(stall)
      stall.end()
    }
  }

  /**
   * Lets each request fail, as while the store is away.
   * @returns a function that ends the outage
   */
  fail(): () => void {
    const outage = {}
    this.#outages.add(outage)
    return () => void this.#outages.delete(outage)
  }

  /** Ends all outages and stalls, and delivers every message from now on. */
  override heal(): void {
    super.heal()
    this.#outages.clear()
    for (const stall of this.#stalls) stall.end()
    this.#stalls.clear()
  }

  #heldLocks(): string[] {
    const { names } = this.#memory.list({ prefix: '', limit: MOST_NAMES }) as NamesPage
    const locks = this.#memory.inspect(names) as readonly LockInfo[]
    return locks.filter(({ holders }) => holders.length > 0).map(({ lock }) => lock)
  }

  /** Of a message that no outage and no stall concerns, the plan decides. */
  protected override fateOf(message: Message): Fate {
    if (this.#outages.size > 0) return REFUSED
    if (message.verb !== 'renew' || this.#stalls.size === 0) return super.fateOf(message)
    const isStalled = (lock: string): boolean => this.#stallsOf(lock).length > 0
    const waiting = message.renewals.flatMap(({ lock }) => this.#stallsOf(lock))
    if (waiting.length === 0) return super.fateOf(message)
    return { holdRequest: Promise.all(waiting.map(({ ended }) => ended)), ofLock: isStalled }
  }

  #stallsOf(lock: string): Stall[] {
    return [...this.#stalls].filter((stall) => stall.lock === undefined || stall.lock === lock)
  }
}

/** Renewals that get no answer. */
class Stall {
  readonly lock: string | undefined
  readonly ended: Promise<void>
  end!: () => void

  constructor(lock: string | undefined) {
    this.lock = lock
    this.ended = new Promise((resolve) => (this.end = resolve))
  }
}
