/** The terms of one call: another TTL, a fixed lease, a limit of the hold, and how long to wait. */
import { createLocks, type AcquireOptions, type Lease, type Locks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import type { Claim } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import { makeWorld, outcomeOf, type World } from '../support/world.js'

/** The lock kinds that take the terms of a call. */
const KINDS: readonly [kind: string, lock: (locks: Locks) => ReturnType<Locks['mutex']>][] = [
  ['mutex', (locks) => locks.mutex('a')],
  ['fifo mutex', (locks) => locks.mutex('a', { fairness: 'fifo' })],
  ['reader', (locks) => locks.readWriteLock('a').read],
  ['semaphore', (locks) => locks.semaphore('a', { permits: 4 })],
]

function claimsOf(world: World): readonly Claim[] {
  return world.wire.sent
    .filter(({ verb }) => verb === 'attempt')
    .map(({ argument }) => argument as Claim)
}

describe.each(KINDS)('%s', (_kind, lockOf) => {
  test('acquire with ttlMs and renew: false has a fixed lease of that TTL', async () => {
    const world = makeWorld()
    const lock = lockOf(world.client())
    const lease = await world.clock.until(lock.acquire({ ttlMs: 2000, renew: false }))
    expect(claimsOf(world)[0]?.ttlMs).toBe(2000)
    await world.clock.advance(1900)
    expect(lease.held).toBe(true)
    await world.clock.advance(100)
    expect(lease.held).toBe(false)
  })

  test('tryAcquire and run take the same terms', async () => {
    const world = makeWorld()
    const lock = lockOf(world.client())
    const terms: AcquireOptions = { ttlMs: 2000, maxHoldMs: 1000 }
    const lease = (await world.clock.until(lock.tryAcquire(terms))) as Lease
    expect(lease.remainingMs).toBeLessThanOrEqual(1000)
    await world.clock.advance(1000)
    expect(lease.signal.reason).toHaveProperty('reason', 'max-hold')
    await world.clock.until(lease.release())
    await world.clock.until(lock.run((own) => expect(own.remainingMs).toBeLessThan(2000), terms))
    expect(new Set(claimsOf(world).map(({ ttlMs }) => ttlMs))).toEqual(new Set([2000]))
  })

  test('a call without terms has those of the lock', async () => {
    const world = makeWorld()
    const lock = lockOf(world.client({ ttlMs: 9000 }))
    for (const options of [{ ttlMs: 2000 }, { waitMs: 5 }]) {
      const lease = await world.clock.until(lock.acquire(options))
      await world.clock.until(lease.release())
    }
    expect(claimsOf(world).map(({ ttlMs }) => ttlMs)).toEqual([2000, 9000])
  })
})

test('tryAcquire with waitMs resolves to undefined when the wait ends', async () => {
  const world = makeWorld()
  const [one, two] = [world.client(), world.client()]
  const held = await world.clock.until(one.mutex('a').acquire())
  const startedMs = world.clock.monotonicMs()
  expect(await world.clock.until(two.mutex('a').tryAcquire({ waitMs: 700 }))).toBeUndefined()
  expect(world.clock.monotonicMs() - startedMs).toBe(700)
  await world.clock.advance(10)
  expect((await two.inspect()).locks[0]?.waiters).toEqual([])
  const served = two.mutex('a').tryAcquire({ waitMs: 700, ttlMs: 2000, renew: false })
  await world.clock.advance(5)
  await world.clock.until(held.release())
  const lease = await world.clock.until(served)
  expect(lease?.remainingMs).toBeGreaterThan(0.97 * 2000)
})

test('tryAcquire with waitMs rejects when the store does not answer', async () => {
  const world = makeWorld()
  const locks = world.client()
  world.wire.fate = () => 'fail'
  const outcome = outcomeOf(locks.mutex('a').tryAcquire({ waitMs: 700 }))
  await world.clock.advance(800)
  expect(await outcome).toHaveProperty('error.code', 'STORE_UNAVAILABLE')
})

test('tryAcquire rejects with the reason of its signal', async () => {
  const world = makeWorld()
  const locks = world.client()
  await world.clock.until(locks.mutex('a').acquire())
  for (const waitMs of [0, 5000, undefined]) {
    const reason = new Error('no longer wanted')
    const controller = new AbortController()
    if (waitMs !== 5000) controller.abort(reason)
    const options = { signal: controller.signal, ...(waitMs === undefined ? {} : { waitMs }) }
    const outcome = outcomeOf(locks.mutex('a').tryAcquire(options))
    await world.clock.advance(5)
    controller.abort(reason)
    expect(await outcome).toEqual({ error: reason })
  }
})

test('tryAcquire that would wait for its own context fails at once', async () => {
  const locks = createLocks(memoryStore())
  const mutex = locks.mutex('a')
  await mutex.run(async () => {
    expect(await mutex.tryAcquire()).toBeUndefined()
    const outcome = await outcomeOf(mutex.tryAcquire({ waitMs: 60_000 }))
    expect(outcome).toHaveProperty('error.code', 'LOCK_USAGE')
  })
})

test.each(['cohort', 'fifo'] as const)(
  'callers with different terms are served in call order, each with its own (%s)',
  async (fairness) => {
    const world = makeWorld()
    const [one, two] = [world.client({ fairness }), world.client({ fairness })]
    const held = await world.clock.until(two.mutex('a').acquire())
    const served: string[] = []
    const note = (name: string, options: AcquireOptions): void => {
      void one
        .mutex('a')
        .acquire(options)
        .then(async (lease) => {
          served.push(`${name} ${Math.ceil(lease.remainingMs / 1000)} s`)
          await lease.release()
        })
    }
    note('a', { ttlMs: 3000 })
    note('b', { ttlMs: 5000, renew: false })
    note('c', { ttlMs: 8000, renew: true })
    await world.clock.advance(5)
    await world.clock.until(held.release())
    // A pushed grant is short until its first renewal.
    await world.clock.advance(50)
    expect(served.map((text) => text[0])).toEqual(['a', 'b', 'c'])
    expect(served[1]).toBe('b 5 s')
    expect(claimsOf(world).map(({ ttlMs }) => ttlMs)).toEqual([30_000, 3000, 5000, 8000])
  },
)

test('several locks take the terms, and tryAcquire of them waits', async () => {
  const world = makeWorld()
  const [one, two] = [world.client(), world.client()]
  const several = one.multi([one.mutex('a'), one.mutex('b')])
  const held = await world.clock.until(two.mutex('b').acquire())
  expect(await world.clock.until(several.tryAcquire({ waitMs: 500 }))).toBeUndefined()
  await world.clock.advance(10)
  expect((await two.inspect()).locks.map(({ lock, waiters }) => [lock, waiters.length])).toEqual([
    ['b', 0],
  ])
  const served = several.tryAcquire({ waitMs: 500, ttlMs: 2000, renew: false })
  await world.clock.advance(100)
  await world.clock.until(held.release())
  const lease = await world.clock.until(served)
  expect(lease?.leases.map(({ name }) => name)).toEqual(['a', 'b'])
  expect(lease?.remainingMs).toBeLessThan(2000)
})

describe('terms that make no sense are refused, whether the lock is free or not', () => {
  const locks = createLocks(memoryStore())
  const wrong: readonly object[] = [
    { ttlMs: 0 },
    { ttlMs: '5s' },
    { ttlMs: null },
    { ttlMs: Infinity },
    { renew: 'no' },
    { renew: null },
    { maxHoldMs: 0 },
    { maxHoldMs: NaN },
    { waitMs: -1 },
    { signal: 5 },
    { reentrant: true },
    { maxWaiters: 5 },
  ]
  test.each(wrong)('%j', async (options) => {
    const held = await locks.mutex('held').acquire()
    for (const name of ['free', 'held']) {
      const mutex = locks.mutex(name)
      for (const call of [
        mutex.acquire(options),
        mutex.tryAcquire(options),
        mutex.run(() => 1, options),
        locks.multi([mutex]).tryAcquire(options),
        locks.semaphore('s', { permits: 1 }).tryAcquire(options),
      ]) {
        expect(await outcomeOf<unknown>(call)).toHaveProperty('error.code', 'LOCK_USAGE')
      }
    }
    await held.release()
    expect((await locks.inspect()).locks).toEqual([])
  })

  test('a campaign takes no terms', async () => {
    const outcome = await outcomeOf(locks.election('e').campaign({ ttlMs: 5000 } as object))
    expect(outcome).toHaveProperty('error.message', expect.stringMatching(/"ttlMs" for campaign/))
  })
})
