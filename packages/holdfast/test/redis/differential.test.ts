/**
 * The same histories through the Lua scripts and through the memory store's rule: the same decisions, the same tokens, the
 * same wake-ups, to the millisecond.
 */
import { Redis } from 'ioredis5'
import type { Claim, Store } from 'holdfast/store'
import { CAPACITY_ALL } from 'holdfast/store'
import { redisStore } from 'holdfast/redis'
import { beforeAll, afterAll, expect, test } from 'vitest'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { planOf } from '../../../../test/support/plan.js'
import { clockedClient } from './support/clocked.js'
import { Model, sorted, type Step } from './support/model.js'
import { until } from './support/world.js'

const HISTORIES = { fast: 10, usual: 60, full: 600 }[planOf()]
const TURNS = 80
const START_MS = 1_800_000_000_000

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

/** A small generator of pseudo-random numbers (mulberry32), so that a seed says it all. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Makes up what happens. */
class Story {
  readonly #random: () => number
  readonly #claims: Claim[] = []
  readonly #seed: number

  constructor(seed: number) {
    this.#seed = seed
    this.#random = randomOf(seed)
  }

  pick<T>(...choices: readonly T[]): T {
    return choices[Math.floor(this.#random() * choices.length)] as T
  }

  passMs(): number {
    // Now and then just as long as a TTL: what ends at a moment is over at that moment.
    if (this.#random() < 0.1) return this.pick(50, 300)
    return Math.floor(this.#random() * this.pick(1, 20, 20, 60, 60, 400))
  }

  step(model: Model, nowMs: number): Step {
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
    if (verb !== 'renew' && model.isVague(claim, nowMs)) return { verb: 'describe', lock: claim.lock }
    if (verb === 'again') return this.#attempt(this.#changed(claim))
    return { verb, claim: verb === 'renew' ? this.#changed(claim) : claim }
  }

  #attempt(claim: Claim): Step {
    return { verb: 'attempt', claim, enqueue: this.#random() < 0.8, tokens: this.pick(1, 1, 32, 100_000) }
  }

  #other(claim: Claim): Step {
    const { lock } = claim
    return this.pick<Step>(
      { verb: 'downgrade', claim },
      { verb: 'downgrade', claim },
      { verb: 'describe', lock },
      { verb: 'describe', lock },
      { verb: 'steal', lock, now: false },
      { verb: 'steal', lock, now: false, because: 'a "reason"\nof two lines' },
      { verb: 'steal', lock, now: true },
    )
  }

  #changed(claim: Claim): Claim {
    return { ...claim, owner: { ...claim.owner, localWaiters: Math.floor(this.#random() * 5) } }
  }

  #newClaim(): Claim {
    const id = `claim-${this.#seed}-${this.#claims.length}`
    const family = this.pick('exclusive', 'exclusive', 'shared', 'shared', 'permits', 'permits', 'any')
    const shape = {
      exclusive: { kind: 'mutex', capacity: CAPACITY_ALL, weight: CAPACITY_ALL },
      shared: { kind: 'readWriteLock', capacity: CAPACITY_ALL, weight: this.pick(1, 1, CAPACITY_ALL) },
      permits: { kind: 'semaphore', capacity: 3, weight: this.pick(1, 1, 2, 3) },
      any: { kind: 'semaphore', capacity: this.pick(1, 4), weight: 1 },
    }[family] as Pick<Claim, 'kind' | 'capacity' | 'weight'>
    const claim: Claim = {
      // Families share some locks, and have others for themselves.
      lock: `${this.#seed}-${this.pick(family, family, 'shared by all')}`,
      id,
      ...shape,
      ttlMs: this.pick(50, 300, 2000),
      heartbeatMs: this.pick(15, 100, 600),
      owner: { clientId: `client of ${id}`, host: 'a "host"', pid: 1 },
    }
    this.#claims.push(claim)
    return claim
  }
}

async function perform(store: Store, step: Step): Promise<unknown> {
  try {
    switch (step.verb) {
      case 'attempt':
        return await store.attempt(step.claim, step)
      case 'renew':
        return (await store.renew([step.claim]))[0]
      case 'withdraw':
        return await store.withdraw(step.claim)
      case 'downgrade':
        return await store.downgrade(step.claim)
      case 'steal':
        return await store.steal(step.lock, step)
      case 'describe':
        break
    }
    return sorted((await store.inspect({ lock: step.lock })).locks[0])
  } catch (error) {
    return (error as Error).message
  }
}

/** One turn: a few steps that travel together where they can. Withdrawals go first. */
function turnOf(story: Story, model: Model, nowMs: number): Step[] {
  const steps = Array.from({ length: story.pick(1, 1, 1, 2, 5) }, () => story.step(model, nowMs))
  const batched = steps.filter(({ verb }) => verb === 'attempt' || verb === 'renew' || verb === 'withdraw')
  if (batched.length < steps.length) return steps.slice(0, 1)
  // What withdraws a claim in the turn of its attempt may come first or last: not both in one turn here.
  const ids = new Set(batched.map((step) => ('claim' in step ? step.claim.id : '')))
  if (ids.size < steps.length) return steps.slice(0, 1)
  return [
    ...steps.filter(({ verb }) => verb === 'withdraw'),
    ...steps.filter(({ verb }) => verb !== 'withdraw'),
  ]
}

/** Channels carry the grants of one script call together. */
async function listen(): Promise<{ readonly lines: string[]; end(): void }> {
  const subscriber = new Redis(server.url)
  const lines: string[] = []
  subscriber.on('pmessage', (_pattern: string, _channel: string, text: string) => {
    // Without the TTL, which a renewal in the same step may lengthen; attempts tell it, too.
    for (const line of text.split('\n')) lines.push(line.split(' ').slice(0, 3).join(' '))
  })
  await subscriber.psubscribe('hf:*')
  return { lines, end: () => subscriber.disconnect() }
}

test(`${HISTORIES} histories are decided alike`, { timeout: 120_000 }, async () => {
  const outcomes = new Map<string, number>()
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const { client, setTime } = clockedClient(redis)
    const store = redisStore({ client })
    const heard = await listen()
    const story = new Story(seed)
    const model = new Model()
    let nowMs = START_MS + seed * 1_000_000
    for (let turn = 0; turn < TURNS; turn += 1) {
      nowMs += story.passMs()
      await setTime(nowMs)
      const steps = turnOf(story, model, nowMs)
      const expected = steps.map((step) => model.do(step, nowMs))
      const answers = await Promise.all(steps.map((step) => perform(store, step)))
      const actual = answers.map((answer, index) =>
        withHintOf(expected[index], answer, model.firstEndMs(steps[index] as Step) - nowMs),
      )
      expect(actual, `seed ${seed}, turn ${turn}: ${show(steps)}`).toEqual(expected)
      for (const answer of expected) count(outcomes, answer)
    }
    await until('all wake-ups', () => heard.lines.length >= model.pushed.length)
    expect(heard.lines.toSorted(), `wake-ups of seed ${seed}`).toEqual(model.pushed.toSorted())
    outcomes.set('pushed', (outcomes.get('pushed') ?? 0) + model.pushed.length)
    heard.end()
    await store.close()
  }
  // A comparison of histories in which nothing happens would pass as well.
  for (const what of [
    'granted',
    'waiting',
    'busy',
    'withdrawn',
    'renewed',
    'lost',
    'released',
    'left',
    'absent',
    'pushed',
  ]) {
    expect(outcomes.get(what) ?? 0, what).toBeGreaterThan(HISTORIES)
  }
})

/**
 * When to look again is a hint, which renewals leave too early in one and the other. It has to be there when somebody
 * holds the lock, and never after the first lease ends.
 */
function withHintOf(expected: unknown, actual: unknown, endsInMs: number): unknown {
  const [theirs, ours] = [hintOf(expected), hintOf(actual)]
  if (theirs === undefined || ours === undefined || ours > endsInMs) return actual
  return { ...(actual as object), holderRemainingMs: theirs }
}

function hintOf(answer: unknown): number | undefined {
  const { holderRemainingMs } = (answer ?? {}) as { holderRemainingMs?: number }
  return holderRemainingMs
}

function count(outcomes: Map<string, number>, answer: unknown): void {
  const name = typeof answer === 'object' && answer !== null && 'outcome' in answer ? answer.outcome : answer
  if (typeof name === 'string') outcomes.set(name, (outcomes.get(name) ?? 0) + 1)
}

function show(steps: readonly Step[]): string {
  return JSON.stringify(
    steps.map((step) => ({ ...step, ...('claim' in step ? { claim: step.claim.id } : {}) })),
  )
}
