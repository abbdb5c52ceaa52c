/**
 * Random histories of a few locks, for the scripts and for the model that they are compared with.
 */
import { SeededRandom } from 'holdfast/testing'
import { CAPACITY_ALL, type Claim } from 'holdfast/store'
import type { Step } from './model.js'

/** The longest TTL of a claim, and the longest time for which a waiter is believed to live. */
export const LONGEST_MS = 2000
/** How long keys outlive what is in them; see `scripts/parts/base.lua`. */
const KEEP_MS = 60_000

type Family = 'exclusive' | 'shared' | 'permits' | 'any'
const FAMILIES: readonly Family[] = [
  'exclusive',
  'exclusive',
  'shared',
  'shared',
  'permits',
  'permits',
  'any',
]

/** Makes up what happens. */
export class Story {
  readonly #random: () => number
  readonly #seed: number
  readonly #crowded: boolean
  readonly #families: readonly Family[]
  #claims: Claim[] = []
  #newest: Claim | undefined
  #count = 0

  /** @param crowded whether all clients want the same lock */
  constructor(seed: number, crowded: boolean) {
    this.#seed = seed
    this.#crowded = crowded
    const random = new SeededRandom(seed)
    this.#random = () => random.next()
    this.#families = crowded ? [this.pick('exclusive', 'shared', 'permits')] : FAMILIES
  }

  pick<T>(...choices: readonly T[]): T {
    return choices[Math.floor(this.#random() * choices.length)] as T
  }

  chance(probability: number): boolean {
    return this.#random() < probability
  }

  /** The lock that all clients want. */
  get lock(): string {
    return `${this.#seed}-${this.#families[0]}`
  }

  /** The claim that was made last. */
  get newest(): Claim {
    return this.#newest ?? this.#newClaim()
  }

  passMs(): number {
    // Now and then just as long as a TTL: what ends at a moment is over at that moment.
    if (this.chance(0.1)) return this.pick(50, 300)
    return Math.floor(this.#random() * this.pick(1, 20, 20, 60, 60, 400))
  }

  /**
   * All clients die, and nothing happens until the keys end, or most of them. Returns for how long.
   */
  abandon(): number {
    this.#claims = []
    return KEEP_MS + Math.floor(this.#random() * this.pick(2, 2, 2, 80) * LONGEST_MS)
  }

  /** @param isVague whether it is open how a store answers about the claim */
  step(isVague: (claim: Claim) => boolean): Step {
    const verb = this.pick(
      'new',
      'new',
      'new',
      'again',
      'again',
      'renew',
      'renew',
      'withdraw',
      'withdraw',
      'other',
    )
    const claim = this.#claims.length > 0 ? this.pick(...this.#claims.slice(-12)) : undefined
    if (verb === 'new' || !claim) return this.#attempt(this.#newClaim())
    if (verb === 'other') return this.#other(claim)
    if (verb !== 'renew' && isVague(claim)) return { verb: 'describe', lock: claim.lock }
    if (verb === 'again') return this.#attempt(this.#changed(claim))
    if (verb === 'withdraw') return { verb, claim }
    return { verb, claim: { ...this.#changed(claim), keepsEnd: this.chance(0.25) } }
  }

  #attempt(claim: Claim): Step {
    return {
      verb: 'attempt',
      claim,
      enqueue: this.chance(0.8),
      tokens: this.pick(1, 1, 32, 100_000),
    }
  }

  #other(claim: Claim): Step {
    const { lock } = claim
    return this.pick<Step>(
      { verb: 'downgrade', claim },
      { verb: 'downgrade', claim },
      { verb: 'describe', lock },
      { verb: 'describe', lock },
      { verb: 'steal', lock, now: false },
      { verb: 'steal', lock, now: false, reason: 'a "reason"\nof two lines' },
      { verb: 'steal', lock, now: true },
    )
  }

  #changed(claim: Claim): Claim {
    return { ...claim, owner: { ...claim.owner, localWaiters: Math.floor(this.#random() * 5) } }
  }

  #newClaim(): Claim {
    this.#count += 1
    const id = `claim-${this.#seed}-${this.#count}`
    const family = this.pick(...this.#families)
    const shape = {
      exclusive: { kind: 'mutex', capacity: CAPACITY_ALL, weight: CAPACITY_ALL },
      shared: {
        kind: 'readWriteLock',
        capacity: CAPACITY_ALL,
        weight: this.pick(1, 1, CAPACITY_ALL),
      },
      permits: { kind: 'semaphore', capacity: 3, weight: this.pick(1, 1, 2, 3) },
      any: { kind: 'semaphore', capacity: this.pick(1, 4), weight: 1 },
    }[family] as Pick<Claim, 'kind' | 'capacity' | 'weight'>
    const claim: Claim = {
      // Families share some locks, and have others for themselves.
      lock: `${this.#seed}-${this.#crowded ? family : this.pick(family, family, 'shared by all')}`,
      id,
      ...shape,
      ttlMs: this.pick(50, 300, LONGEST_MS),
      heartbeatMs: this.pick(15, 100, 600),
      owner: { clientId: `client of ${id}`, host: 'a "host"', pid: 1 },
    }
    this.#claims.push(claim)
    this.#newest = claim
    return claim
  }
}

/** One turn: a few steps that travel together where they can. Withdrawals go first. */
export function turnOf(story: Story, isVague: (claim: Claim) => boolean): Step[] {
  const steps = Array.from({ length: story.pick(1, 1, 1, 2, 5) }, () => story.step(isVague))
  const batched = steps.filter(
    ({ verb }) => verb === 'attempt' || verb === 'renew' || verb === 'withdraw',
  )
  if (batched.length < steps.length) return steps.slice(0, 1)
  // What withdraws a claim in the turn of its attempt may come first or last: not both in one turn
  // here.
  const ids = new Set(batched.map((step) => ('claim' in step ? step.claim.id : '')))
  if (ids.size < steps.length) return steps.slice(0, 1)
  return [
    ...steps.filter(({ verb }) => verb === 'withdraw'),
    ...steps.filter(({ verb }) => verb !== 'withdraw'),
  ]
}
