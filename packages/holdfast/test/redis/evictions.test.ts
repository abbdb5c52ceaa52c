/**
 * A server that evicts single keys of a lock, though it must not. What was lost ends leases early.
 * The counts heal within one TTL, and the leases that are granted after an eviction never exceed
 * the capacity among themselves.
 */
import { Redis } from 'ioredis5'
import { redisStore } from 'holdfast/redis'
import type { Claim, Granted, Store } from 'holdfast/store'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { planOf } from '../../../../test/support/plan.js'
import { clockedClient, type ScriptEdit } from './support/clocked.js'
import type { Step } from './support/model.js'
import { LOST_PLACE, NO_RECOUNT } from './support/mutations.js'
import { perform } from './support/play.js'
import { LONGEST_MS, Story } from './support/story.js'
import { makeClaim, TRY } from './support/world.js'

const HISTORIES = { fast: 10, usual: 60, full: 600 }[planOf()]
const START_MS = 1_800_000_000_000
const TURNS_BEFORE = 12
const ROUNDS = 4

let server: RedisServer
let redis: Redis

beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.url)
})

afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

/** What the clients of one lock believe to hold. */
class Beliefs {
  readonly #endMs = new Map<string, number>()
  readonly #weights = new Map<string, number>()
  #capacity = Infinity

  note(step: Step, answer: unknown, nowMs: number): void {
    if (!('claim' in step)) return
    const { id, ttlMs, weight, capacity } = step.claim
    const { outcome } = (answer ?? {}) as { outcome?: string }
    if (outcome === 'granted') {
      const { alreadyGranted, remainingMs } = answer as Granted
      this.#endMs.set(id, nowMs + remainingMs)
      // A writer that became a reader stays one.
      if (!alreadyGranted || !this.#weights.has(id)) this.#weights.set(id, weight)
      this.#capacity = capacity
    } else if (outcome === 'renewed') {
      const keepsEnd = step.verb === 'renew' && step.claim.keepsEnd
      if (!keepsEnd) this.#endMs.set(id, nowMs + ttlMs)
      if (!this.#weights.has(id)) this.#weights.set(id, weight)
    } else if (outcome === 'lost' || step.verb === 'withdraw') {
      this.#endMs.delete(id)
    } else if (step.verb === 'downgrade' && answer === true) {
      this.#weights.set(id, 1)
    }
  }

  /** Every lease may be over. */
  forget(): void {
    this.#endMs.clear()
  }

  /** How much of the lock is held, and of how much. */
  heldOf(nowMs: number): { readonly held: number; readonly capacity: number } {
    let held = 0
    for (const [id, endMs] of this.#endMs) if (endMs > nowMs) held += this.#weights.get(id) ?? 0
    return { held, capacity: this.#capacity }
  }
}

/** One lock and its clients, on a server that evicts. */
class History {
  readonly #store: Store
  readonly #setTime: (nowMs: number) => Promise<unknown>
  readonly #story: Story
  readonly #seed: number
  readonly #beliefs = new Beliefs()
  readonly #log: string[] = []
  #nowMs: number

  constructor(seed: number, edits: readonly ScriptEdit[]) {
    const { client, setTime } = clockedClient(redis, edits)
    this.#store = redisStore({ client })
    this.#setTime = setTime
    this.#seed = seed
    this.#story = new Story(seed, true)
    this.#nowMs = START_MS + seed * 5_000_000
  }

  async play(): Promise<void> {
    for (let turn = 0; turn < TURNS_BEFORE; turn += 1) await this.#turn()
    for (let round = 0; round < ROUNDS; round += 1) {
      await this.#evict()
      // Leases from before the eviction may be lost without a trace: only those from then on count.
      this.#beliefs.forget()
      const healedMs = this.#nowMs + LONGEST_MS
      while (this.#nowMs < healedMs) await this.#turn()
      await this.#checkCounts()
      if (this.#story.chance(0.5)) await this.#pass(this.#story.abandon())
    }
    await this.#store.close()
  }

  async #pass(ms: number): Promise<void> {
    this.#nowMs += ms
    await this.#setTime(this.#nowMs)
  }

  async #turn(): Promise<void> {
    await this.#pass(this.#story.passMs())
    const step = this.#story.step(() => false)
    const answer = await perform(this.#store, step)
    this.#log.push(
      `${this.#nowMs} ${step.verb} ${'claim' in step ? step.claim.id : ''} ${say(answer)}`,
    )
    if (step.verb === 'steal' && step.now) this.#beliefs.forget()
    this.#beliefs.note(step, answer, this.#nowMs)
    const { held, capacity } = this.#beliefs.heldOf(this.#nowMs)
    expect(held, this.#storyText()).toBeLessThanOrEqual(capacity)
    if (step.verb === 'attempt' && isWaiting(answer)) await this.#checkPlace(step.claim)
  }

  /** A claim that waits has a place: it would wait forever without one. */
  async #checkPlace({ lock, id }: Claim): Promise<void> {
    const [info] = await this.#store.inspect([lock])
    expect(
      info?.waiters.map(({ claimId }) => claimId),
      this.#storyText(),
    ).toContain(id)
  }

  async #evict(): Promise<void> {
    const keys = (await redis.keys(`hf:{${this.#story.lock}*`)).toSorted()
    const evicted = keys.filter(() => this.#story.chance(0.4))
    if (evicted.length > 0) await redis.del(evicted)
    this.#log.push(`${this.#nowMs} evicted ${evicted.join(' ')} of ${keys.join(' ')}`)
  }

  /** What the store counts is what it shows: that share of the lock is free. */
  async #checkCounts(): Promise<void> {
    const { lock, kind, capacity } = this.#story.newest
    const [info] = await this.#store.inspect([lock])
    const held = info?.holders.reduce((sum, { weight }) => sum + weight, 0) ?? 0
    const [first] = info?.waiters ?? []
    if (first) {
      expect(held + first.weight, this.#storyText()).toBeGreaterThan(capacity)
      return
    }
    for (const weight of kind === 'mutex' ? [capacity] : [1, 2, capacity]) {
      const probe = makeClaim(lock, { kind, capacity, weight })
      const { outcome } = await this.#store.attempt(probe, TRY)
      const message = `${this.#storyText()}\n${held} of ${capacity} is held, and ${weight} was ${outcome}`
      expect(outcome === 'granted', message).toBe(held + weight <= capacity)
      await this.#store.withdraw(probe)
    }
  }

  #storyText(): string {
    return `seed ${this.#seed}:\n${this.#log.slice(-40).join('\n')}`
  }
}

function say(answer: unknown): string {
  return JSON.stringify(answer, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
}

function isWaiting(answer: unknown): boolean {
  return (answer as { outcome?: string }).outcome === 'waiting'
}

async function play(histories: number, edits: readonly ScriptEdit[] = []): Promise<void> {
  await redis.flushdb()
  for (let seed = 1; seed <= histories; seed += 1) await new History(seed, edits).play()
}

test(`counts heal in ${HISTORIES} histories with evictions`, { timeout: 240_000 }, () =>
  play(HISTORIES),
)

test.each([
  ['permits that stay taken when their holders are evicted', NO_RECOUNT],
  ['waiters that are never granted when the queue is evicted', LOST_PLACE],
])('the histories show %s', async (_, edits) => {
  await expect(play(HISTORIES, edits)).rejects.toThrow(/seed \d+/)
})
