/**
 * `holdfast/memory`: locks among the async tasks of one process, and the reference for every other
 * store.
 *
 * Its verbs run to completion in the tick that calls them, so no message can be late or lost. All
 * claims share one token counter, which lets idle locks be forgotten without a token ever coming
 * back.
 */
import { checkClock, systemClock, type Clock } from '../../clock/clock.js'
import { OldestKeys } from '../../collections/oldest-keys.js'
import { LockUsageError } from '../../errors.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import { DEFAULT_POLL_RANGE_MS } from '../../store/contract.js'
import type {
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  ListQuery,
  LockInfo,
  NamesPage,
  Renewal,
  RenewResult,
  StealOptions,
  StealResult,
  Store,
  Traits,
  WakeListener,
  Watch,
  WithdrawOutcome,
} from '../../store/contract.js'
import * as rule from '../../store/grant-rule.js'

/** Time and randomness of a store in memory, for tests. */
export interface MemoryStoreOptions {
  /** Time, for simulations. */
  readonly clock?: Clock | undefined
  /**
   * How many withdrawn claims each lock remembers. In one process an attempt cannot be overtaken by
   * its own withdrawal, so a few suffice. A simulation that puts a network in front needs more.
   * Default 8.
   */
  readonly tombstonesPerLock?: number | undefined
}

const KEYS: KnownKeys<MemoryStoreOptions> = { clock: 1, tombstonesPerLock: 1 }

/**
 * Idle locks are kept up to this number, since a lock just released is likely to be taken again.
 */
const IDLE_LOCKS_KEPT = 1024
/** The number of locks that each step checks for forgetting: more than a step can add. */
const LOOK_AT_OLDEST = 2

const TRAITS: Traits = {
  fencing: true,
  tokenBlocks: true,
  kinds: ['mutex', 'readWriteLock', 'semaphore'],
  fair: true,
  wakeUp: 'push',
  expiry: 'process',
  adopt: false,
  pollRangeMs: DEFAULT_POLL_RANGE_MS,
  ttlRangeMs: [1, Number.MAX_SAFE_INTEGER],
}

/**
 * Makes a store that lives in this process. Clients share locks when they share the store.
 * @throws LockUsageError when an option makes no sense.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptions(options)
  return new MemoryStore(options)
}

function checkOptions(options: MemoryStoreOptions): void {
  checkKeys('memoryStore', options, KEYS, { store: 'memory' })
  const { clock, tombstonesPerLock = 0 } = options
  checkClock(clock)
  if (typeof tombstonesPerLock === 'number' && tombstonesPerLock >= 0) return
  throw new LockUsageError('The tombstonesPerLock of memoryStore must be a number from 0 on.', {
    store: 'memory',
  })
}

class MemoryStore implements Store {
  readonly name = 'memory'
  readonly traits = TRAITS
  readonly #clock: Clock
  readonly #locks = new Map<string, rule.LockState>()
  readonly #oldest = new OldestKeys(this.#locks)
  readonly #watchers = new Map<string, WakeListener>()
  readonly #step: rule.RuleStep
  #lastToken: number

  constructor(options: MemoryStoreOptions) {
    this.#clock = options.clock ?? systemClock
    this.#step = {
      nowMs: 0,
      tokenFloor: 0,
      tombstoneLimit: options.tombstonesPerLock ?? 8,
      promoted: [],
    }
    // A fenced resource outlives this process, so the first token must exceed those of earlier
    // processes.
    this.#lastToken = Math.floor(this.#clock.wallMs() * 1000)
  }

  attempt(claim: Claim, options: AttemptOptions): AttemptResult {
    const state = this.#begin(claim.lock)
    try {
      return rule.attempt(state, claim, options, this.#step)
    } finally {
      this.#end(claim.lock, state)
    }
  }

  renew(renewals: readonly Renewal[]): RenewResult[] {
    return renewals.map((renewal) =>
      this.#runStep(renewal.lock, (state, step) => rule.renew(state, renewal, step)),
    )
  }

  withdraw(claim: ClaimRef): WithdrawOutcome {
    const state = this.#begin(claim.lock)
    try {
      return rule.withdraw(state, claim, this.#step)
    } finally {
      this.#end(claim.lock, state)
    }
  }

  downgrade(claim: ClaimRef): boolean {
    return this.#runStep(claim.lock, (state, step) => rule.downgrade(state, claim, step))
  }

  watch(claim: Claim, wake: WakeListener): Watch {
    this.#watchers.set(claim.id, wake)
    return { ready: undefined, close: () => void this.#watchers.delete(claim.id) }
  }

  steal(lock: string, options: StealOptions): StealResult {
    return this.#runStep(lock, (state, step) => rule.steal(state, options, step))
  }

  list({ prefix, cursor = '', limit }: ListQuery): NamesPage {
    const names = [...this.#locks.keys()]
      .filter((name) => name.startsWith(prefix) && name > cursor)
      .sort()
    const page = names.slice(0, limit)
    return { names: page, cursor: names.length > limit ? page.at(-1) : undefined }
  }

  inspect(locks: readonly string[], waitersUpTo?: readonly string[]): LockInfo[] {
    return locks.flatMap((lock) => this.#describe(lock, waitersUpTo) ?? [])
  }

  close(): void {
    this.#watchers.clear()
  }

  #describe(lock: string, waitersUpTo?: readonly string[]): LockInfo | undefined {
    return this.#locks.has(lock)
      ? this.#runStep(lock, (state, step) => rule.describe(lock, state, step, waitersUpTo))
      : undefined
  }

  /**
   * Runs one atomic step on one lock. It wakes the new holders, also when the step itself throws.
   */
  #runStep<R>(lock: string, verb: (state: rule.LockState, step: rule.RuleStep) => R): R {
    const state = this.#begin(lock)
    try {
      return verb(state, this.#step)
    } finally {
      this.#end(lock, state)
    }
  }

  #begin(lock: string): rule.LockState {
    let state = this.#locks.get(lock)
    if (!state) {
      state = rule.newLockState(lock)
      this.#locks.set(lock, state)
    }
    this.#step.nowMs = this.#clock.monotonicMs()
    this.#step.tokenFloor = this.#lastToken + 1
    return state
  }

  #end(lock: string, state: rule.LockState): void {
    this.#noteToken(state)
    if (this.#locks.size > IDLE_LOCKS_KEPT) this.#forgetOldest(lock, state)
    if (this.#step.promoted.length > 0) this.#wake(this.#step.promoted)
  }

  #noteToken(state: rule.LockState): void {
    if (state.lastToken > this.#lastToken) this.#lastToken = state.lastToken
  }

  /**
   * Forgets the locks that were used longest ago, if they are idle. Never the one just used: its
   * withdrawn claims are the ones that may still be asked about.
   */
  #forgetOldest(lock: string, state: rule.LockState): void {
    this.#locks.delete(lock)
    this.#locks.set(lock, state)
    for (let looks = 0; looks < LOOK_AT_OLDEST; looks += 1) {
      const oldest = this.#oldest.next()
      const its = oldest === undefined ? undefined : this.#locks.get(oldest)
      if (oldest === undefined || !its) return
      // There may have been no attempt since its leases ended.
      this.#step.tokenFloor = this.#lastToken + 1
      rule.expireAndPromote(its, this.#step)
      this.#noteToken(its)
      this.#locks.delete(oldest)
      // In use it stands for no less than the newest; the next step looks at the one after it.
      if (!rule.isIdle(its)) this.#locks.set(oldest, its)
    }
  }

  /** Listeners may call the store again, so the list is emptied first. */
  #wake(promoted: rule.Holder[]): void {
    for (const holder of promoted.splice(0)) {
      const grant = { token: BigInt(holder.token), tokens: holder.tokens, ttlMs: holder.ttlMs }
      this.#watchers.get(holder.id)?.(grant)
    }
  }
}
