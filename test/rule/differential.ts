/**
 * Compares a rule that runs in a service with the rule in plain functions. Both run the same random
 * history, and must have the same answers and the same state after each step.
 */
import { SeededRandom } from 'holdfast/testing'
import {
  CAPACITY_ALL,
  type Claim,
  type LockInfo,
  type LockKind,
  type Renewal,
  type Store,
} from 'holdfast/store'
import { expect } from 'vitest'
import { grantRule as rule } from 'holdfast/internal'
import { isFull } from '../support/plan.js'

/** A store whose service reads a clock that the test sets. */
export interface ClockedStore {
  readonly store: Store
  /** Sets the service's clock, in whole milliseconds since the Unix epoch. */
  setClock(ms: number): Promise<void>
  /** Removes the rows of locks that no client has used for a day. */
  purge(): unknown
  /** Kills the server, and starts it again with its data. */
  restart(): Promise<unknown>
}

const START_MS = 1_700_000_000_000
/** The steps that a history is made of, and how often each comes. */
const VERBS = [
  ...Array<'attempt'>(10).fill('attempt'),
  ...Array<'withdraw'>(5).fill('withdraw'),
  ...Array<'renew'>(4).fill('renew'),
  'downgrade',
  ...Array<'adopt'>(2).fill('adopt'),
  'steal',
  'retake',
] as const
/** A client that takes a lock again and again. */
const PAIRS = ['attempt', 'attempt', 'retake', 'retake', 'withdraw', 'renew'] as const

const STEPS = 120
/** How many histories a crowd plays, by kind. */
const ROUNDS = isFull()
  ? { single: 30, grouped: 10, abandoned: 10, restarts: 3 }
  : { single: 8, grouped: 3, abandoned: 4, restarts: 1 }

/** For each round, since the exhaustive plan has four times as many. Beside load one took 3 s. */
const ROUND_LIMIT_MS = 10_000
/** How long `compareHistories` may take. */
export const HISTORIES_LIMIT_MS = (ROUNDS.single + ROUNDS.grouped) * ROUND_LIMIT_MS

const DAY_MS = 86_400_000
/** Times without any client: longer than a heartbeat, a TTL, a tombstone, and a row of a lock. */
const ABANDONED_MS = [70, 700, 5000, DAY_MS, 40 * DAY_MS]

export interface Crowd {
  /** How many claims want the same lock. */
  readonly claims: number
  /**
   * The state is compared once in this many steps: an inspection may change how the service stores
   * a lock.
   */
  readonly looks: number
  readonly verbs: readonly (typeof VERBS)[number][]
}

/**
 * Many claims, of which one is seldom alone, two, of which one often is, and one that takes and
 * releases a free lock.
 */
export const CROWDS: readonly Crowd[] = [
  { claims: 10, looks: 1, verbs: VERBS },
  { claims: 2, looks: 7, verbs: VERBS },
  { claims: 1, looks: 60, verbs: PAIRS },
]

export async function compareHistories(clocked: ClockedStore, crowd: Crowd): Promise<void> {
  const first = crowd.claims * 1000
  for (let seed = first; seed < first + ROUNDS.single; seed += 1) {
    await comparePlays(clocked, [seed], crowd)
  }
  // Several locks in one turn.
  for (let seed = first + 100; seed < first + 100 + 5 * ROUNDS.grouped; seed += 5) {
    await comparePlays(clocked, [seed, seed + 1, seed + 2, seed + 3, seed + 4], crowd)
  }
}

/**
 * Histories in which all clients die now and then, for seconds or for weeks, and the server
 * restarts once.
 */
export async function compareAbandoned(clocked: ClockedStore, crowd: Crowd): Promise<void> {
  const first = crowd.claims * 1000 + 500
  for (let seed = first; seed < first + ROUNDS.abandoned; seed += 1) {
    await comparePlays(clocked, [seed], crowd, {
      restartAt: seed < first + ROUNDS.restarts ? STEPS / 2 : undefined,
    })
  }
}

/**
 * Plays histories of several locks side by side: what they ask in one step leaves together. A
 * difference fails with the seed and the steps that led to it.
 */
async function comparePlays(
  { store, setClock, purge, restart }: ClockedStore,
  seeds: readonly number[],
  { claims, looks, verbs }: Crowd,
  abandoned?: { readonly restartAt: number | undefined },
): Promise<void> {
  const random = new SeededRandom(seeds[0] ?? 0)
  const plays = seeds.map((seed) => new Play(store, seed, claims, verbs))
  let nowMs = 0
  for (let step = 0; step < STEPS; step += 1) {
    nowMs += pick(random, [0, 0, 1, 7, 60, 400])
    if (step === abandoned?.restartAt) await restart()
    const dies = abandoned && random.next() < 0.08
    if (dies) nowMs += pick(random, ABANDONED_MS)
    await setClock(START_MS + nowMs)
    if (dies) {
      for (const play of plays) play.abandon(step)
      if (random.next() < 0.5) await purge()
    }
    const checks = await Promise.all(plays.map((play) => play.step(step, nowMs)))
    for (const check of checks) await check(step % looks === 0)
  }
}

/** The history of one lock. */
class Play {
  readonly #store: Store
  readonly #seed: number
  readonly #lock: string
  readonly #model: Model
  readonly #shapes: readonly Shape[]
  readonly #verbs: Crowd['verbs']
  readonly #claims: Claim[]
  readonly #history: string[] = []
  readonly #below: (limit: number) => number

  constructor(store: Store, seed: number, claims: number, verbs: Crowd['verbs']) {
    const random = new SeededRandom(seed)
    this.#below = (limit) => Math.floor(random.next() * limit)
    this.#store = store
    this.#seed = seed
    this.#lock = `differential-${seed}`
    this.#model = new Model(this.#lock)
    this.#verbs = verbs
    this.#shapes = shapesFor(this.#below(3))
    this.#claims = Array.from({ length: claims }, (_, index) => this.#newClaim(String(index)))
  }

  /**
   * Asks both, and returns a function that compares the answers and, if it is asked to, the state.
   */
  async step(step: number, nowMs: number): Promise<(look: boolean) => Promise<void>> {
    const below = this.#below
    const lock = this.#lock
    this.#model.step.nowMs = nowMs
    const verb = this.#verbs[below(this.#verbs.length)] ?? 'attempt'
    const index = below(this.#claims.length)
    const claim = this.#claims[index]!
    const enqueue = below(3) > 0
    const now = below(2) === 0
    this.#history.push(
      `${nowMs} ${verb} ${claim.id} ${claim.kind} ${claim.weight}/${claim.capacity} ${enqueue}`,
    )
    const options = { enqueue, tokens: 1 + below(3) }
    const owner = { ...claim.owner, label: `${step}` }
    const keepsEnd = below(4) === 0
    const renewal: Renewal = { lock, id: claim.id, ttlMs: 100 + below(300), owner, keepsEnd }
    const stealing = { now, reason: `step ${step}` }
    // A new claim replaces it now and then, since a withdrawn one stays refused.
    if (verb === 'withdraw' && below(2) === 0) this.#claims[index] = this.#newClaim(`${step}-new`)
    // Half of them with the token of the lease.
    const held = this.#model.token(claim.id)
    const token = held === undefined || below(2) === 0 ? 7n : held
    const to = this.#newClaim(`${step}-heir`)
    const detached = below(2) === 0
    const adoption = { from: claim, token, to: { ...to, weight: claim.weight }, detached }
    if (verb === 'adopt') this.#claims.push(adoption.to)
    // A release, and the next attempt of the same client, which leave together.
    const next = this.#newClaim(`${step}-next`)
    if (verb === 'retake') this.#claims[index] = next
    const theirs = await outcomeOf(() => {
      if (verb === 'adopt') return this.#store.adopt?.(adoption)
      if (verb === 'attempt') return this.#store.attempt(claim, options)
      if (verb === 'withdraw') return this.#store.withdraw(claim)
      if (verb === 'renew') return this.#store.renew([renewal])
      if (verb === 'retake')
        return both(
          () => this.#store.withdraw(claim),
          () => this.#store.attempt(next, options),
        )
      return verb === 'downgrade' ? this.#store.downgrade(claim) : this.#store.steal(lock, stealing)
    })
    const ours = await outcomeOf(() =>
      this.#model.play((state, step) => {
        if (verb === 'adopt') return rule.adopt(state, adoption, step)
        if (verb === 'attempt') return rule.attempt(state, claim, options, step)
        if (verb === 'withdraw') return rule.withdraw(state, claim, step)
        if (verb === 'renew') return [rule.renew(state, renewal, step)]
        if (verb === 'retake')
          return both(
            () => rule.withdraw(state, claim, step),
            () => rule.attempt(state, next, options, step),
          )
        return verb === 'downgrade'
          ? rule.downgrade(state, claim, step)
          : rule.steal(state, stealing, step)
      }),
    )
    return async (look) => {
      const history = `seed ${this.#seed}:\n${this.#history.slice(-25).join('\n')}\n`
      expect(withoutHint(theirs), history).toEqual(withoutHint(ours))
      if (!look) return
      const shown = await this.#store.inspect([lock])
      expect(inOrder(shown), history).toEqual(inOrder(this.#model.describe()))
    }
  }

  /** All clients die. Others come after them. */
  abandon(step: number): void {
    this.#history.push(`all die before step ${step}`)
    for (const index of this.#claims.keys())
      this.#claims[index] = this.#newClaim(`${step}-${index}`)
  }

  #newClaim(id: string): Claim {
    return newClaim(this.#lock, `${this.#seed}-${id}`, this.#shapes, this.#below)
  }
}

function pick(random: SeededRandom, among: readonly number[]): number {
  return among[Math.floor(random.next() * among.length)] ?? 0
}

type Shape = Pick<Claim, 'kind' | 'capacity'>

function shape(kind: LockKind, capacity: number): Shape {
  return { kind, capacity }
}

function shapesFor(which: number): readonly Shape[] {
  const whole = [shape('mutex', CAPACITY_ALL), shape('readWriteLock', CAPACITY_ALL)]
  if (which === 0) return whole
  if (which === 1) return [shape('semaphore', 3)]
  return [...whole, shape('semaphore', 3), shape('semaphore', 2)]
}

function newClaim(
  lock: string,
  id: string,
  shapes: readonly Shape[],
  below: (limit: number) => number,
): Claim {
  const { kind, capacity } = shapes[below(shapes.length)]!
  const reads = kind === 'readWriteLock' && below(2) === 0
  return {
    lock,
    id,
    kind,
    capacity,
    weight: kind === 'semaphore' ? 1 + below(capacity) : reads ? 1 : capacity,
    ttlMs: 100 + below(500),
    heartbeatMs: 20 + below(100),
    owner: { clientId: id, host: 'differential', pid: 1 },
  }
}

/** The lock by the plain rule. */
class Model {
  readonly step: rule.RuleStep = { nowMs: 0, tokenFloor: 0, tombstoneLimit: 100_000, promoted: [] }
  readonly #lock: string
  readonly #state: rule.LockState

  constructor(lock: string) {
    this.#lock = lock
    this.#state = rule.newLockState(lock)
  }

  play<R>(verb: (state: rule.LockState, step: rule.RuleStep) => R): R {
    this.step.tokenFloor = (START_MS + this.step.nowMs) * 1000
    // The plain rule may remember a withdrawn claim for longer than it has to. Stores need not.
    for (const [id, { untilMs }] of this.#state.tombstones) {
      if (untilMs <= this.step.nowMs) this.#state.tombstones.delete(id)
    }
    return verb(this.#state, this.step)
  }

  /** Returns the last token of the grant of a claim, if that holds the lock. */
  token(id: string): bigint | undefined {
    const holder = this.#state.holders.get(id)
    return holder && BigInt(holder.token + holder.tokens - 1)
  }

  describe(): LockInfo[] {
    const info = this.play((state, step) => rule.describe(this.#lock, state, step))
    return info ? [info] : []
  }
}

/** Sorts the holders: an adopted lease may keep its place or come last. */
function inOrder(locks: readonly LockInfo[]): readonly LockInfo[] {
  return locks.map((lock) => ({
    ...lock,
    holders: lock.holders.toSorted((a, b) => (a.claimId < b.claimId ? -1 : 1)),
  }))
}

async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : String(error)
  }
}

/** Calls both at once. */
function both(one: () => unknown, other: () => unknown): Promise<readonly unknown[]> {
  return Promise.all([outcomeOf(one), outcomeOf(other)])
}

/**
 * The plain rule may hint at the end of a lease that was renewed, so hints need not be equal. The
 * numbers of the queue may differ too, since databases draw them from one source for all locks.
 */
function withoutHint(outcome: unknown): unknown {
  if (Array.isArray(outcome)) return outcome.map(withoutHint)
  if (typeof outcome !== 'object' || outcome === null || !('holderRemainingMs' in outcome))
    return outcome
  const isNumbered = 'queueNumber' in outcome && outcome.queueNumber !== undefined
  return {
    ...outcome,
    queueNumber: isNumbered,
    holderRemainingMs: outcome.holderRemainingMs !== undefined,
  }
}
