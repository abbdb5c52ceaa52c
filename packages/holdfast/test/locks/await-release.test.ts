/** `awaitRelease: false`: a run does not wait for the answer to its release. */
import { createLocks, onLockEvent, type Locks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { describe, expect, test } from 'vitest'
import { deferred, makeWorld, outcomeOf, type World } from '../support/world.js'

const LATENCY_MS = 100

function slowWorld(ordered = false): World {
  const world = makeWorld(1, undefined, ordered)
  world.wire.latencyMs = LATENCY_MS
  return world
}

function isOfMany(claim: unknown): boolean {
  return (claim as { lock: string }).lock.startsWith('m')
}

/** How long a run takes, in virtual milliseconds. */
async function durationOf(world: World, run: () => Promise<unknown>): Promise<number> {
  const startedMs = world.clock.monotonicMs()
  await world.clock.until(run())
  return world.clock.monotonicMs() - startedMs
}

const WAYS: readonly [string, (world: World) => () => Promise<number>][] = [
  ['the client', (world) => run(world.client({ awaitRelease: false }))],
  ['the lock', (world) => run(world.client(), { lock: false })],
  ['the call', (world) => run(world.client(), { call: false })],
  [
    'the call, against the client',
    (world) => run(world.client({ awaitRelease: true }), { call: false }),
  ],
  [
    'several locks',
    (world) => {
      const locks = world.client()
      return () => locks.multi([locks.mutex('a')]).run(() => 1, { awaitRelease: false })
    },
  ],
  [
    'a semaphore',
    (world) => {
      const semaphore = world.client().semaphore('s', { permits: 2 })
      return () => semaphore.run(() => 1, { awaitRelease: false, weight: 2 })
    },
  ],
]

function run(locks: Locks, { lock, call }: { lock?: boolean; call?: boolean } = {}) {
  const mutex = locks.mutex('a', lock === undefined ? {} : { awaitRelease: lock })
  return () => mutex.run(() => 1, call === undefined ? {} : { awaitRelease: call })
}

test.each(WAYS)('set for %s, a run takes one round trip', async (_what, of) => {
  const world = slowWorld()
  expect(await durationOf(world, of(world))).toBe(2 * LATENCY_MS)
})

test('by default, and with true for the call, it takes two', async () => {
  const world = slowWorld()
  expect(await durationOf(world, run(world.client()))).toBe(4 * LATENCY_MS)
  const locks = world.client({ awaitRelease: false })
  expect(await durationOf(world, run(locks, { call: true }))).toBe(4 * LATENCY_MS)
})

test('the request of the release has left when the run resolves', async () => {
  const world = slowWorld()
  await world.clock.until(run(world.client({ awaitRelease: false }))())
  expect(world.wire.sent.map(({ verb }) => verb)).toEqual(['attempt', 'withdraw'])
})

test('the outcome goes to the events', async () => {
  const world = slowWorld()
  const locks = world.client({ awaitRelease: false })
  const outcomes: unknown[] = []
  const stop = onLockEvent('released', ({ outcome }) => outcomes.push(outcome))
  await world.clock.until(run(locks)())
  expect(outcomes).toEqual([])
  await world.clock.advance(2 * LATENCY_MS)
  expect(outcomes).toEqual(['released'])
  stop()
})

test('a failed release goes to the events, and later attempts go on', async () => {
  const world = slowWorld()
  const locks = world.client({ awaitRelease: false, ttlMs: 2000 })
  const errors: unknown[] = []
  const stop = onLockEvent('error', ({ during, error }) => errors.push([during, error]))
  world.wire.fate = (verb) => (verb === 'withdraw' ? 'fail' : 'deliver')
  expect(await world.clock.until(run(locks)())).toBe(1)
  const next = locks.mutex('a').acquire()
  await world.clock.advance(5000)
  expect(errors.length).toBeGreaterThan(0)
  world.wire.fate = () => 'deliver'
  expect((await world.clock.until(next)).held).toBe(true)
  stop()
})

describe('a later attempt of the client for the same lock', () => {
  test.each(['cohort', 'fifo'] as const)('leaves behind the release (%s)', async (fairness) => {
    const world = slowWorld()
    const locks = world.client({ awaitRelease: false, fairness })
    await world.clock.until(run(locks)())
    // The release arrives after everything that leaves now.
    world.wire.latencyMs = 1
    const lease = await world.clock.until(locks.mutex('a').tryAcquire())
    expect(lease?.held).toBe(true)
    expect(world.wire.sent.map(({ verb }) => verb)).toEqual(['attempt', 'withdraw', 'attempt'])
  })

  test('does so with other terms, and for a part of the permits', async () => {
    const world = slowWorld()
    const locks = world.client({ awaitRelease: false })
    const whole = locks.semaphore('s', { permits: 3 })
    await world.clock.until(
      Promise.all([whole.run(() => 1, { weight: 2 }), whole.run(() => 1, { weight: 1 })]),
    )
    world.wire.latencyMs = 1
    const lease = await world.clock.until(whole.tryAcquire({ weight: 3, ttlMs: 5000 }))
    expect(lease?.held).toBe(true)
  })

  test('waits for an earlier release that is answered after a later one', async () => {
    const world = slowWorld()
    const permits = world.client({ awaitRelease: false }).semaphore('s', { permits: 2 })
    const gate = deferred()
    const later = permits.run(() => gate.promise)
    await world.clock.until(permits.run(() => 1))
    world.wire.latencyMs = 10
    gate.resolve()
    await world.clock.until(later)
    world.wire.latencyMs = 1
    const lease = await world.clock.until(permits.tryAcquire({ weight: 2 }))
    expect(lease?.held).toBe(true)
  })

  test('ends its wait in time, and leaves no claim behind', async () => {
    const world = slowWorld()
    const locks = world.client({ awaitRelease: false })
    await world.clock.until(run(locks)())
    world.wire.fate = () => 'hang'
    const outcome = await world.clock.until(outcomeOf(locks.mutex('a').acquire({ waitMs: 50 })))
    expect(outcome).toHaveProperty('error.code', 'LOCK_TIMEOUT')
    const controller = new AbortController()
    const aborted = outcomeOf(locks.mutex('a').acquire({ signal: controller.signal }))
    controller.abort('enough')
    expect(await aborted).toEqual({ error: 'enough' })
    await world.clock.advance(10_000)
    expect(world.wire.sent.filter(({ verb }) => verb === 'attempt')).toHaveLength(1)
  })

  test('of another lock does not wait', async () => {
    const world = slowWorld()
    const locks = world.client({ awaitRelease: false })
    await world.clock.until(run(locks)())
    world.wire.latencyMs = 1
    const startedMs = world.clock.monotonicMs()
    await world.clock.until(locks.mutex('b').acquire())
    expect(world.clock.monotonicMs() - startedMs).toBe(2)
  })
})

describe('on a store that keeps the order of requests, a later attempt', () => {
  test.each(['cohort', 'fifo'] as const)('does not wait for the answer (%s)', async (fairness) => {
    const world = slowWorld(true)
    const locks = world.client({ awaitRelease: false, fairness })
    const mutex = locks.mutex('a')
    const runs = async (): Promise<void> => {
      for (let round = 0; round < 5; round += 1) await mutex.run(() => 1)
    }
    expect(await durationOf(world, runs)).toBe(5 * 2 * LATENCY_MS)
    expect(await durationOf(world, () => mutex.tryAcquire())).toBe(2 * LATENCY_MS)
  })

  test('that overtook the release attempts again behind its answer', async () => {
    const world = slowWorld(true)
    const locks = world.client({ awaitRelease: false })
    await world.clock.until(run(locks)())
    world.wire.latencyMs = 1
    const lease = await world.clock.until(locks.mutex('a').tryAcquire())
    expect(lease?.held).toBe(true)
    expect(world.wire.sent.map(({ verb }) => verb)).toEqual([
      'attempt',
      'withdraw',
      'attempt',
      'attempt',
    ])
  })

  test('for another number of permits that overtook the release is not refused', async () => {
    const world = slowWorld(true)
    const locks = world.client({ awaitRelease: false })
    await world.clock.until(locks.semaphore('s', { permits: 2 }).run(() => 1))
    world.wire.latencyMs = 1
    const other = locks.semaphore('s', { permits: 3 })
    expect((await world.clock.until(other.tryAcquire()))?.held).toBe(true)
  })

  test('finds a lock that another client took busy', async () => {
    const world = slowWorld(true)
    const locks = world.client({ awaitRelease: false })
    await world.clock.until(run(locks)())
    const other = world.direct().mutex('a').acquire()
    const found = locks.mutex('a').tryAcquire()
    expect(await world.clock.until(found)).toBeUndefined()
    expect((await world.clock.until(other)).held).toBe(true)
  })

  test('that a caller gives up meanwhile leaves no claim behind', async () => {
    const world = slowWorld(true)
    const locks = world.client({ awaitRelease: false })
    await world.clock.until(run(locks)())
    world.wire.latencyMs = 1
    const controller = new AbortController()
    const gone = outcomeOf(locks.mutex('a').tryAcquire({ signal: controller.signal }))
    await world.clock.advance(10)
    controller.abort('enough')
    expect(await gone).toEqual({ error: 'enough' })
    await world.clock.advance(10_000)
    expect((await world.direct().inspect()).locks).toEqual([])
  })
})

test('with 1 024 releases open, the next caller waits for its own', async () => {
  const world = slowWorld()
  const locks = world.client({ awaitRelease: false })
  world.wire.fate = (verb, claim) => (verb === 'withdraw' && isOfMany(claim) ? 'hang' : 'deliver')
  const all = Array.from({ length: 1024 }, (_, index) => locks.mutex(`m${index}`).run(() => 1))
  await world.clock.until(Promise.all(all))
  expect(await durationOf(world, () => locks.mutex('next').run(() => 1))).toBe(4 * LATENCY_MS)
  world.wire.fate = () => 'deliver'
  await world.clock.advance(20_000)
  expect(await durationOf(world, () => locks.mutex('last').run(() => 1))).toBe(2 * LATENCY_MS)
})

test('close waits for open releases', async () => {
  const world = slowWorld()
  const locks = world.client({ awaitRelease: false })
  await world.clock.until(run(locks)())
  expect(await durationOf(world, () => locks.close())).toBe(2 * LATENCY_MS)
  expect((await world.direct().inspect()).locks).toEqual([])
})

test('with atLeastMs the lease is kept, and the run does not wait either', async () => {
  const locks = createLocks(memoryStore())
  const options = { awaitRelease: false, atLeastMs: 5000 }
  expect(await locks.mutex('a').run(() => 1, options)).toBe(1)
  expect(await locks.mutex('a').tryAcquire()).toBeUndefined()
})

test.each(['no', 0, null, {}])('awaitRelease %j is refused', async (value) => {
  const options = { awaitRelease: value as boolean }
  const locks = createLocks(memoryStore())
  expect(() => createLocks(memoryStore(), options)).toThrow(/awaitRelease must be true or false/)
  expect(() => locks.mutex('a', options)).toThrow(/awaitRelease must be true or false/)
  const outcome = await outcomeOf(locks.mutex('a').run(() => 1, options))
  expect(outcome).toHaveProperty('error.code', 'LOCK_USAGE')
  expect(await outcomeOf(locks.mutex('a').acquire(options as object))).toHaveProperty(
    'error.message',
    expect.stringMatching(/no option "awaitRelease" for acquire/),
  )
})
