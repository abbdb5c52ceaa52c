/** What a case works with: clients of the store under test, new names, claims, and time. */
import assert from 'node:assert/strict'
import { createLocks, type Locks, type LocksOptions, type Random, systemRandom } from 'holdfast'
import {
  type AttemptResult,
  CAPACITY_ALL,
  type Claim,
  type Granted,
  type LockInfo,
  type Store,
  type WithdrawOutcome,
} from 'holdfast/store'
import { FaultyStore, type Plan } from 'holdfast/testing'
import { expectOutcome } from './expect.js'
import type { Subject } from './subject.js'
import { realTime, virtualTime, type Time } from './time.js'
import { SeededRandom } from 'holdfast/testing'

/** The TTL of leases that must not end during a case, if the store allows it. */
const LONG_TTL_MS = 30_000
/** Waiters that send no heartbeats keep their place for three of these. */
const LONG_HEARTBEAT_MS = 10_000
/** The longest that a client may take to close. */
const CLOSE_LIMIT_MS = 30_000
/** How many claims are withdrawn at the same time when a case ends. */
const WITHDRAWN_TOGETHER = 100

let contexts = 0

/** A client whose store misbehaves as its plan says. */
/** Options of a client over a wire with faults. */
export interface FaultyOptions extends LocksOptions {
  readonly requestTimeoutMs?: number | undefined
}

export interface FaultyClient {
  readonly store: FaultyStore
  readonly locks: Locks
}

/** Returns options for a wire whose answers are never late: a request is not sent again. */
export function slowAnswers({ slackMs }: Context): FaultyOptions {
  return { requestTimeoutMs: slackMs }
}

export class Context {
  readonly subject: Subject
  readonly time: Time
  readonly random: Random
  /** The TTL of a lease that ends during the case. */
  readonly shortMs: number
  /** The TTL of a lease that does not end during the case. */
  readonly longMs: number
  readonly slackMs: number
  /** The request timeout of a client with faults: shorter than a short lease. */
  readonly faultyTimeoutMs: number
  readonly #names: string
  readonly #stores: Store[] = []
  readonly #claims: Claim[] = []
  readonly #homes = new Map<string, Store>()
  readonly #locks: Locks[] = []
  readonly #faulty: FaultyStore[] = []
  #first: Store | undefined

  constructor(subject: Subject) {
    contexts += 1
    this.subject = subject
    this.time = subject.clock ? virtualTime(subject.clock) : realTime
    this.random = subject.clock ? new SeededRandom(contexts) : systemRandom
    const [shortest, longest] = subject.traits.ttlRangeMs
    const grantable = (ttlMs: number): number => Math.min(longest, Math.max(shortest, ttlMs))
    this.shortMs = grantable(subject.shortTtlMs ?? 300)
    this.faultyTimeoutMs = Math.round((this.shortMs * 5) / 6)
    this.longMs = grantable(LONG_TTL_MS)
    this.slackMs = subject.slackMs ?? 3000
    // Random, since a store may remember the names of an earlier run.
    this.#names = `conformance-${systemRandom.id().slice(0, 8)}`
  }

  /** The first client. */
  get store(): Store {
    if (!this.#first) throw new Error('The context was not opened.')
    return this.#first
  }

  async start(): Promise<void> {
    this.#first = await this.open()
  }

  /** Opens another client of the same service. */
  async open(): Promise<Store> {
    const store = await this.subject.open()
    this.#stores.push(store)
    return store
  }

  /** Returns a lock name that no other case uses. */
  name(part = 'lock'): string {
    return `${this.#names}:${part}`
  }

  /** Makes a claim: for a mutex, unless `overrides` names another kind. */
  claim(overrides: Partial<Claim> = {}): Claim {
    const id = this.random.id()
    const ttlMs = overrides.ttlMs ?? this.longMs
    const claim: Claim = {
      lock: this.name(),
      id,
      kind: 'mutex',
      capacity: CAPACITY_ALL,
      weight: overrides.kind === 'semaphore' ? 1 : CAPACITY_ALL,
      ttlMs,
      heartbeatMs: ttlMs === this.shortMs ? ttlMs / 3 : LONG_HEARTBEAT_MS,
      owner: { clientId: `client-of-${id}`, host: 'conformance', pid: process.pid },
      ...overrides,
    }
    this.#claims.push(claim)
    return claim
  }

  /** Attempts, and queues if the lock is busy. Later verbs use the store of the first attempt. */
  async attempt(claim: Claim, store = this.#home(claim)): Promise<AttemptResult> {
    this.#homes.set(claim.id, store)
    return store.attempt(claim, { enqueue: true, tokens: 1 })
  }

  /** Attempts, and fails unless the claim is granted. */
  async take(claim: Claim, store = this.#home(claim)): Promise<Granted> {
    return expectOutcome(await this.attempt(claim, store), 'granted')
  }

  /** Attempts, and fails unless the claim waits. */
  async queue(claim: Claim, store = this.#home(claim)): Promise<void> {
    expectOutcome(await this.attempt(claim, store), 'waiting')
  }

  async withdraw(claim: Claim, store = this.#home(claim)): Promise<WithdrawOutcome> {
    return store.withdraw(claim)
  }

  /** Repeats the attempt, which is a heartbeat, until the claim is granted or `limitMs` passed. */
  async granted(claim: Claim, limitMs: number, store = this.#home(claim)): Promise<Granted> {
    let last: AttemptResult | undefined
    await this.time.eventually('the claim is granted', limitMs, async () => {
      last = await this.attempt(claim, store)
      return last.outcome === 'granted'
    })
    return expectOutcome(last, 'granted')
  }

  async inspect(lock = this.name(), store = this.store): Promise<LockInfo | undefined> {
    const [info] = await store.inspect([lock])
    return info
  }

  /** Lists the names of all locks with a prefix, page by page, without those that come twice. */
  async list(prefix: string, limit = 1000, between?: () => Promise<void>): Promise<string[]> {
    const found = new Set<string>()
    let cursor: string | undefined
    let pages = 0
    do {
      const page = await this.store.list({ prefix, cursor, limit })
      for (const name of page.names) found.add(name)
      cursor = page.cursor
      pages += 1
      assert.ok(pages <= 1000, 'the pages do not end')
      if (cursor !== undefined) await between?.()
    } while (cursor !== undefined)
    return [...found].sort()
  }

  /** Shows all locks with a prefix that are in use. */
  async inspectAll(prefix: string): Promise<readonly LockInfo[]> {
    return this.store.inspect(await this.list(prefix))
  }

  /** Makes `Locks` over a new client, as another process would have. */
  async locks(options: LocksOptions = {}): Promise<Locks> {
    return this.#createLocks(await this.open(), options)
  }

  /** Makes `Locks` over a wire with faults. Its request timeout is short. */
  async faulty(plan: Plan, options: FaultyOptions = {}): Promise<FaultyClient> {
    const { requestTimeoutMs = this.faultyTimeoutMs, ...rest } = options
    const { clock } = this.time
    const store = new FaultyStore(await this.open(), { clock, plan, requestTimeoutMs })
    this.#faulty.push(store)
    return { store, locks: this.#createLocks(store, rest) }
  }

  /** Waits until this many claims queue in the store. */
  async waiters(count: number, lock = this.name()): Promise<void> {
    await this.time.eventually(`${count} waiters`, this.slackMs, async () => {
      return ((await this.inspect(lock))?.waiters.length ?? 0) === count
    })
  }

  /** Returns a promise that the case awaits later. Until then a rejection is not unhandled. */
  later<T>(promise: Promise<T>): Promise<T> {
    promise.catch(() => {})
    return promise
  }

  /** Waits for a promise that must settle without delay. */
  soon<T>(promise: PromiseLike<T>, what = 'an answer'): Promise<T> {
    return this.time.within(promise, this.slackMs, what)
  }

  /** Ends all claims and clients of the case. */
  async end(): Promise<void> {
    for (const store of this.#faulty) store.heal()
    const closing = Promise.all(this.#locks.map((locks) => locks.close({ graceMs: 0 })))
    await this.time.within(closing, CLOSE_LIMIT_MS, 'the closing of the clients')
    for (let first = 0; first < this.#claims.length; first += WITHDRAWN_TOGETHER) {
      const claims = this.#claims.slice(first, first + WITHDRAWN_TOGETHER)
      await Promise.all(claims.map(async (claim) => this.#first?.withdraw(claim)))
    }
    for (const store of this.#stores) await store.close()
  }

  #home({ id }: Claim): Store {
    return this.#homes.get(id) ?? this.store
  }

  #createLocks(store: Store, options: LocksOptions): Locks {
    const { clock } = this.time
    const locks = createLocks(store, { clock, random: this.random, ttlMs: this.longMs, ...options })
    this.#locks.push(locks)
    return locks
  }
}
