/** How much travels between a client and ZooKeeper. */
import { inspectPage } from 'holdfast/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startZooKeeper, type ZooKeeperEnsemble } from '@holdfast/servers/zookeeper'
import { handOffInside, makeClaim, openProxy, openStore, QUEUE, isQuiet } from './support/world.js'

/** Signs of life, one each half tick, stay out of what is counted. */
const QUIET = { tickMs: 20_000 }

let ensemble: ZooKeeperEnsemble

beforeAll(async () => {
  ensemble = await startZooKeeper()
})
afterAll(() => ensemble.stop())

test('a pair on a free lock is two flights', async () => {
  const { proxy, connect } = await openProxy(ensemble.ports[0])
  const store = openStore({ connect, ...QUIET })
  const pair = async (): Promise<void> => {
    const claim = makeClaim('free')
    expect(await store.attempt(claim, QUEUE)).toMatchObject({ outcome: 'granted' })
    expect(await store.withdraw(claim)).toBe('released')
  }
  // The session and the node of the lock.
  await pair()
  const before = proxy.packets
  for (let round = 0; round < 5; round += 1) await pair()
  expect(proxy.packets - before).toBe(5 * 2)
})

test('a hand-off costs the same however many wait', async () => {
  const costs: number[] = []
  for (const waiting of [2, 16]) {
    const { proxy, connect } = await openProxy(ensemble.ports[0])
    const lock = `crowd-${waiting}`
    const holder = openStore({ connect, ...QUIET })
    const held = makeClaim(lock)
    await holder.attempt(held, QUEUE)
    const woken: number[] = []
    for (let place = 0; place < waiting; place += 1) {
      const store = openStore({ connect, ...QUIET })
      const claim = makeClaim(lock)
      expect(await store.attempt(claim, QUEUE)).toMatchObject({ outcome: 'waiting' })
      store.watch(claim, (grant) => void (grant && woken.push(place)))
    }
    // Until all watches are set.
    await expect.poll(() => isQuiet(() => proxy.packets)).toBe(true)
    const before = proxy.packets
    await holder.withdraw(held)
    await expect.poll(() => woken).toEqual([0])
    costs.push(proxy.packets - before)
  }
  // The node that is taken out, and the look of the one that is next.
  expect(costs).toEqual([2, 2])
})

test('a hand-off inside one client is one flight', async () => {
  const { proxy, connect } = await openProxy(ensemble.ports[0])
  const { handOff } = await handOffInside(openStore({ connect, ...QUIET }), 'inside')
  await expect.poll(() => isQuiet(() => proxy.packets)).toBe(true)
  const before = proxy.packets
  await handOff()
  expect(proxy.packets - before).toBe(1)
})

test('the pages of an inspection list the names of the locks once', async () => {
  const LOCKS = 60
  const { proxy, connect } = await openProxy(ensemble.ports[0])
  const store = openStore({ connect, ...QUIET })
  const prefix = 'page-'.padEnd(120, '-')
  for (let lock = 0; lock < LOCKS; lock += 1)
    await store.attempt(makeClaim(`${prefix}${lock}`), QUEUE)
  const costs: number[] = []
  for (const limit of [LOCKS, 4]) {
    const before = proxy.answeredBytes
    const found: string[] = []
    let cursor: string | undefined
    do {
      const page = await inspectPage(store, { prefix, cursor, limit })
      found.push(...page.locks.map(({ lock }) => lock))
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(new Set(found).size).toBe(LOCKS)
    expect(found).toHaveLength(LOCKS)
    costs.push(proxy.answeredBytes - before)
  }
  const [whole = 0, paged = 0] = costs
  expect(paged).toBeLessThan(whole * 1.5)
})

describe.each([
  ['semaphore', { kind: 'semaphore', capacity: 2, weight: 1 }, 2],
  ['mutex', {}, 1],
] as const)('many waiters of one client on a %s', (what, shape, holders) => {
  const WAITERS = 400

  test('read their queue together', async () => {
    const { proxy, connect } = await openProxy(ensemble.ports[0])
    const store = openStore({ connect, ...QUIET })
    const lock = `many-${what}`
    for (let held = 0; held < holders; held += 1) {
      expect(await store.attempt(makeClaim(lock, shape), QUEUE)).toMatchObject({
        outcome: 'granted',
      })
    }
    const queue = {}
    const claims = Array.from({ length: WAITERS }, () => makeClaim(lock, shape))
    const beat = (): Promise<unknown[]> =>
      Promise.all(claims.map(async (claim) => store.attempt(claim, { ...QUEUE, queue })))
    for (const answer of await beat()) expect(answer).toMatchObject({ outcome: 'waiting' })
    const before = proxy.answeredBytes
    for (const answer of await beat()) expect(answer).toMatchObject({ outcome: 'waiting' })
    expect(proxy.answeredBytes - before).toBeLessThan(WAITERS * 100)
  })
})
