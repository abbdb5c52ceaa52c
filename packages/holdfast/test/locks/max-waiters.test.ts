/** `maxWaiters`: one caller too many is refused at once. */
import { createLocks, LockQueueFullError, type Locks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { describe, expect, test } from 'vitest'
import { makeWorld, outcomeOf } from '../support/world.js'

const KINDS: readonly [string, (locks: Locks) => ReturnType<Locks['mutex']>][] = [
  ['mutex', (locks) => locks.mutex('a', { maxWaiters: 2 })],
  ['fifo mutex', (locks) => locks.mutex('a', { maxWaiters: 2, fairness: 'fifo' })],
  ['fixed mutex', (locks) => locks.mutex('a', { maxWaiters: 2, renew: false })],
  ['writer', (locks) => locks.readWriteLock('a', { maxWaiters: 2 }).write],
  ['semaphore', (locks) => locks.semaphore('a', { maxWaiters: 2, permits: 1 })],
]

test.each(KINDS)('%s: the third waiting caller is refused, until one is served', async (_, of) => {
  const world = makeWorld()
  const locks = world.client()
  const held = await world.clock.until(of(locks).acquire())
  const [first, second] = [of(locks).acquire(), of(locks).acquire({ ttlMs: 5000 })]
  for (const refused of [
    of(locks).acquire(),
    of(locks).run(() => 1),
    of(locks).tryAcquire({ waitMs: 5 }),
  ]) {
    const outcome = await outcomeOf<unknown>(refused)
    expect(outcome).toHaveProperty('error.code', 'LOCK_QUEUE_FULL')
    expect(outcome).toMatchObject({ error: { lock: 'a', store: 'remote memory', maxWaiters: 2 } })
    expect(outcome).toHaveProperty('error', expect.any(LockQueueFullError))
  }
  // One attempt does not wait.
  expect(await world.clock.until(of(locks).tryAcquire())).toBeUndefined()
  const freed = [first, second].map(async (granted) => (await granted).release())
  await world.clock.until(held.release())
  await world.clock.until(first)
  const third = of(locks).acquire()
  freed.push(third.then((lease) => lease.release()))
  expect(await world.clock.until(Promise.all(freed))).toEqual(['released', 'released', 'released'])
})

test('a caller that gives up leaves its place', async () => {
  const world = makeWorld()
  const mutex = world.client({ maxWaiters: 1 }).mutex('a')
  await world.clock.until(mutex.acquire())
  const controller = new AbortController()
  const waits = outcomeOf(mutex.acquire({ signal: controller.signal }))
  controller.abort()
  await waits
  const timed = outcomeOf(mutex.acquire({ waitMs: 100 }))
  expect(await outcomeOf(mutex.acquire())).toHaveProperty('error.code', 'LOCK_QUEUE_FULL')
  expect(await world.clock.until(timed)).toHaveProperty('error.code', 'LOCK_TIMEOUT')
  const last = mutex.acquire({ waitMs: 100 })
  expect(await world.clock.until(outcomeOf(last))).toHaveProperty('error.code', 'LOCK_TIMEOUT')
})

test('other locks, other clients and locks without the option do not count', async () => {
  const store = memoryStore()
  const [one, two] = [createLocks(store), createLocks(store)]
  const held = await one.mutex('a').acquire()
  const waits = [one.mutex('a').acquire(), two.mutex('a', { maxWaiters: 1 }).acquire()]
  const own = one.mutex('a', { maxWaiters: 1 }).acquire()
  expect(await outcomeOf(one.mutex('a', { maxWaiters: 1 }).acquire())).toHaveProperty(
    'error.code',
    'LOCK_QUEUE_FULL',
  )
  await (await one.mutex('b', { maxWaiters: 1 }).acquire()).release()
  await held.release()
  await Promise.all([...waits, own].map(async (wait) => (await wait).release()))
})

test('a free lock is granted in the tick of the call, so that no caller waits', async () => {
  const locks = createLocks(memoryStore(), { maxWaiters: 1 })
  const semaphore = locks.semaphore('s', { permits: 2 })
  const [one, two] = [semaphore.acquire(), semaphore.acquire()]
  await Promise.all([(await one).release(), outcomeOf(two)])
})

describe('bad input', () => {
  test.each([0, -1, 1.5, NaN, '4', null])('maxWaiters %s', (maxWaiters) => {
    const options = { maxWaiters: maxWaiters as number }
    expect(() => createLocks(memoryStore()).mutex('a', options)).toThrow(/maxWaiters must be/)
    expect(() => createLocks(memoryStore(), options)).toThrow(/maxWaiters must be/)
  })
})
