/**
 * Cohorts: a lease passes among the waiters of one process without the store, within a bound, with
 * tokens of its own.
 */
import { onLockEvent, type Lease } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { makeWorld, outcomeOf, type World } from '../../support/world.js'

/** Lets `size` callers of one client queue behind a holder of that client. */
async function crowd(world: World, size: number, ttlMs = 30_000) {
  const locks = world.client({ ttlMs })
  const first = await world.clock.until(locks.mutex('a').acquire())
  const served: Lease[] = []
  const waiting = Array.from({ length: size }, async () => {
    const lease = await locks.mutex('a').acquire()
    served.push(lease)
    return lease
  })
  return { locks, first, served, waiting }
}

/**
 * Gets the cohort a grant with a block of tokens: the first one was taken when no caller waited.
 */
async function withBlock(world: World, size: number, ttlMs?: number) {
  const group = await crowd(world, size, ttlMs)
  void group.first.release()
  await world.clock.advance(5)
  return group
}

describe('a cohort', () => {
  test('hands a lease on without a call to the store', async () => {
    const world = makeWorld()
    const { served } = await withBlock(world, 5)
    world.wire.sent.length = 0
    for (let turn = 0; turn < 4; turn += 1) {
      expect(served.length).toBe(turn + 1)
      expect(await served[turn]?.release()).toBe('released')
      await world.clock.advance(0)
    }
    expect(world.wire.sent).toEqual([])
  })

  test('lets each caller hold for as long as it said itself', async () => {
    const { client, clock } = makeWorld()
    const locks = client({ ttlMs: 30_000 })
    const short = await clock.until(locks.mutex('a', { maxHoldMs: 100 }).acquire())
    const waiting = locks.mutex('a').acquire()
    await clock.until(short.release())
    const long = await clock.until(waiting)
    await clock.advance(200)
    expect(long.held).toBe(true)
    await clock.until(long.release())
    const again = await clock.until(locks.mutex('a', { maxHoldMs: 100 }).acquire())
    await clock.advance(200)
    expect(again.held).toBe(false)
  })

  test('serves in the order of asking, each with a larger token', async () => {
    const world = makeWorld()
    const { first, served, waiting } = await withBlock(world, 20)
    for (let turn = 0; turn < 20; turn += 1) {
      await world.clock.until(waiting[turn] ?? Promise.reject(new Error('no lease')))
      expect(
        await world.clock.until(served[turn]?.release() ?? Promise.reject(new Error('no lease'))),
      ).toBe('released')
    }
    const tokens = [first, ...served].map((lease) => lease.token)
    expect(tokens).toEqual([...tokens].sort((a, b) => (a < b ? -1 : 1)))
    expect(new Set(tokens).size).toBe(tokens.length)
  })

  test('gives other processes their turn after 32 hand-offs in a row', async () => {
    const world = makeWorld()
    const { served } = await withBlock(world, 60)
    const order: string[] = []
    const other = world
      .direct()
      .mutex('a')
      .run(() => void order.push('other'))
    await world.clock.advance(0)
    for (let turn = 0; turn < 40 && order.length === 0; turn += 1) {
      void served[turn]?.release()
      await world.clock.advance(0)
      // Not handed on: the release is on its way to the store.
      if (served.length === turn + 1) await world.clock.advance(4)
    }
    await world.clock.until(other)
    // The first lease of a grant is no hand-off, and its block has 32 tokens.
    expect(served.length).toBeGreaterThanOrEqual(32)
    expect(served.length).toBeLessThanOrEqual(33)
  })

  test('gives other processes their turn after 10 ms', async () => {
    const world = makeWorld()
    const { served } = await withBlock(world, 10)
    let otherMs = Infinity
    const other = world
      .direct()
      .mutex('a')
      .run(() => void (otherMs = world.clock.monotonicMs()))
    const startMs = world.clock.monotonicMs()
    for (let turn = 0; otherMs === Infinity && turn < 10; turn += 1) {
      await world.clock.advance(4)
      void served[turn]?.release()
      await world.clock.advance(0)
    }
    await world.clock.until(other)
    expect(otherMs - startMs).toBeLessThanOrEqual(16)
  })

  test('does not hand on a lease with half its TTL or less', async () => {
    const world = makeWorld()
    // So short that 6 ms are more than half of what a grant of the queue gets, with the margin.
    const { served } = await withBlock(world, 3, 50)
    world.clock.freeze(30)
    world.wire.sent.length = 0
    void served[0]?.release()
    await world.clock.advance(0)
    expect(world.wire.sent.some(({ verb }) => verb === 'withdraw')).toBe(true)
  })

  test('ends with a loss for the holder alone: the rest queue again', async () => {
    const world = makeWorld()
    const { served, waiting } = await withBlock(world, 3, 1000)
    const holder = served[0]
    await world.store.steal('a', { now: true })
    await world.clock.advance(400)
    expect(holder?.signal.aborted).toBe(true)
    await world.clock.advance(20)
    expect(served.length).toBe(2)
    expect(served[1]?.held).toBe(true)
    expect(waiting.length).toBe(3)
  })

  test('that waits already outlives an attempt that fails, also the first one of its next claim', async () => {
    const world = makeWorld()
    const { first, served, waiting } = await crowd(world, 3)
    let failures = 0
    world.wire.fate = (verb) => (verb === 'attempt' && (failures += 1) <= 2 ? 'fail' : 'deliver')
    // More than half its TTL has gone by, so it is not handed on.
    world.clock.freeze(20_000)
    await world.clock.until(first.release())
    await world.clock.until(Promise.race(waiting))
    expect(failures).toBeGreaterThan(2)
    expect(served.length).toBe(1)
  })

  test('publishes how many wait behind its claim', async () => {
    const world = makeWorld()
    const holder = await world.direct().mutex('a').acquire()
    const locks = world.client()
    for (let index = 0; index < 5; index += 1) void outcomeOf(locks.mutex('a').acquire())
    await world.clock.advance(2500)
    const found = await world.store.inspect(['a'])
    expect(found[0]?.waiters).toHaveLength(1)
    expect(found[0]?.waiters[0]?.owner.localWaiters).toBe(4)
    expect(holder.held).toBe(true)
  })

  test('publishes each hand-off', async () => {
    const world = makeWorld()
    const { served } = await withBlock(world, 3)
    const tokens: unknown[] = []
    const stop = onLockEvent('handed-off', ({ token }) => tokens.push(token))
    await served[0]?.release()
    await world.clock.advance(0)
    stop()
    expect(tokens).toEqual([served[1]?.token])
  })

  test('joins only claims of the same TTL', async () => {
    const world = makeWorld()
    const locks = world.client()
    const first = await world.clock.until(locks.mutex('a', { ttlMs: 5000 }).acquire())
    const second = locks.mutex('a', { ttlMs: 7000 }).acquire()
    await world.clock.advance(10)
    world.wire.sent.length = 0
    void first.release()
    await world.clock.until(second)
    expect(world.wire.sent.some(({ verb }) => verb === 'withdraw')).toBe(true)
  })

  test('a waiter that gives up loses only its own place', async () => {
    const world = makeWorld()
    const locks = world.client()
    const first = await world.clock.until(locks.mutex('a').acquire())
    const order: number[] = []
    const waits = [1, 2, 3].map((number) =>
      locks.mutex('a').run(() => void order.push(number), number === 1 ? { waitMs: 100 } : {}),
    )
    const outcomes = Promise.allSettled(waits)
    await world.clock.advance(200)
    void first.release()
    expect((await world.clock.until(outcomes)).map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    expect(order).toEqual([2, 3])
  })

  test('leaves the store when all its waiters gave up', async () => {
    const world = makeWorld()
    await world.direct().mutex('a').acquire()
    const locks = world.client()
    const waits = [1, 2, 3].map(() => locks.mutex('a').acquire({ waitMs: 100 }))
    await world.clock.until(Promise.allSettled(waits))
    await world.clock.advance(10)
    const found = await world.store.inspect(['a'])
    expect(found[0]?.waiters).toEqual([])
  })
})
