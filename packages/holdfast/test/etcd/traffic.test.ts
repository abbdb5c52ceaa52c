/** How many requests etcd gets. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startEtcd, type EtcdCluster } from '@holdfast/servers/etcd'
import { handOffInside, keys, makeClaim, openProxy, openStore, QUEUE } from './support/world.js'

let cluster: EtcdCluster

beforeAll(async () => {
  cluster = await startEtcd()
})
afterAll(() => cluster.stop())

/**
 * How many requests etcd has begun to answer, watches included; without the keep-alive of a
 * session.
 */
function requests(): Promise<number> {
  return started(/^grpc_server_started_total\{grpc_method="(?!LeaseKeepAlive).*\} (\d+)$/gm)
}

/** How often sessions were kept alive. Each time costs one read beside it. */
function keepAlives(): Promise<number> {
  return started(/^grpc_server_started_total\{grpc_method="LeaseKeepAlive.*\} (\d+)$/gm)
}

async function started(pattern: RegExp): Promise<number> {
  const response = await fetch(`${cluster.endpoints[0]}/metrics`)
  const counts = (await response.text()).matchAll(pattern)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

const open = () => openStore({ endpoints: cluster.endpoints })

test('a pair on a free lock is two requests', async () => {
  const store = open()
  const pair = async (): Promise<void> => {
    const claim = makeClaim('free')
    expect(await store.attempt(claim, QUEUE)).toMatchObject({ outcome: 'granted' })
    expect(await store.withdraw(claim)).toBe('released')
  }
  // The session.
  await pair()
  const [before, aliveBefore] = [await requests(), await keepAlives()]
  for (let round = 0; round < 5; round += 1) await pair()
  // A slow machine takes longer than a session goes unheard of.
  const alive = (await keepAlives()) - aliveBefore
  expect((await requests()) - before - alive).toBe(5 * 2)
})

test('a hand-off costs the same however many wait', async () => {
  const costs: number[] = []
  for (const waiting of [2, 16]) {
    const lock = `crowd-${waiting}`
    const holder = open()
    const held = makeClaim(lock)
    await holder.attempt(held, QUEUE)
    const woken: number[] = []
    for (let place = 0; place < waiting; place += 1) {
      const store = open()
      const claim = makeClaim(lock)
      expect(await store.attempt(claim, QUEUE)).toMatchObject({ outcome: 'waiting' })
      store.watch(claim, (grant) => void (grant && woken.push(place)))
    }
    // Until all watches are set.
    await expect.poll(async () => (await requests()) === (await later(requests))).toBe(true)
    const before = await requests()
    await holder.withdraw(held)
    await expect.poll(() => woken).toEqual([0])
    costs.push((await requests()) - before)
  }
  // The entry that is taken out, and the look of the one that is next.
  expect(costs).toEqual([2, 2])
})

test('a hand-off inside one client is one request', async () => {
  const { handOff } = await handOffInside(open(), 'inside')
  await expect.poll(async () => (await requests()) === (await later(requests))).toBe(true)
  const before = await requests()
  await handOff()
  expect((await requests()) - before).toBe(1)
})

test('what is asked for in one tick is one request, and each has its own answer', async () => {
  const store = open()
  const semaphore = makeClaim('turn-3', { kind: 'semaphore', capacity: 2, weight: 1 })
  expect(await store.attempt(semaphore, QUEUE)).toMatchObject({ outcome: 'granted' })
  const claims = Array.from({ length: 20 }, (_, index) => makeClaim(`turn-${index}`))
  const before = await requests()
  const attempts = await Promise.allSettled(
    claims.map(async (claim) => store.attempt(claim, QUEUE)),
  )
  expect((await requests()) - before).toBe(1)
  const [mismatch] = attempts.splice(3, 1)
  expect(mismatch).toMatchObject({ reason: { code: 'LOCK_MISMATCH' } })
  claims.splice(3, 1)
  for (const { status } of attempts) expect(status).toBe('fulfilled')
  const outcomes = await Promise.all(claims.map(async (claim) => store.withdraw(claim)))
  expect(new Set(outcomes)).toEqual(new Set(['released']))
  expect((await requests()) - before).toBe(2)
})

describe.each([
  ['a semaphore', { kind: 'semaphore', capacity: 2, weight: 1 }, 2],
  ['a mutex', {}, 1],
] as const)('many waiters of one client on %s', (what, shape, holders) => {
  const WAITERS = 400

  test('read their queue together', async () => {
    const { proxy, endpoints } = await openProxy(cluster.endpoints[0] ?? '')
    const store = openStore({ endpoints })
    const lock = `many-${what}`
    for (let held = 0; held < holders; held += 1) {
      expect(await store.attempt(makeClaim(lock, { ...shape }), QUEUE)).toMatchObject({
        outcome: 'granted',
      })
    }
    const queue = {}
    const claims = Array.from({ length: WAITERS }, () => makeClaim(lock, { ...shape }))
    const beat = (): Promise<unknown[]> =>
      Promise.all(claims.map(async (claim) => store.attempt(claim, { ...QUEUE, queue })))
    for (const answer of await beat()) expect(answer).toMatchObject({ outcome: 'waiting' })
    // The first heartbeat reads what decides once.
    await beat()
    const [asked, read] = [await requests(), proxy.answeredBytes]
    for (const answer of await beat()) expect(answer).toMatchObject({ outcome: 'waiting' })
    // The queue, and the first waiter and what stands before it.
    expect((await requests()) - asked).toBeLessThanOrEqual(3)
    expect(proxy.answeredBytes - read).toBeLessThan(WAITERS * 150)
  })
})

test('a lock that is used again and again leaves one key behind', async () => {
  const store = open()
  const seen = new Set<string>()
  for (let round = 0; round < 5; round += 1) {
    const claim = makeClaim('again')
    await store.attempt(claim, QUEUE)
    for (const { key } of await keys(cluster.endpoints[0] ?? '', 'holdfast/locks/again/'))
      seen.add(key)
    expect(await store.withdraw(claim)).toBe('released')
  }
  expect(seen.size).toBe(1)
})

async function later<T>(ask: () => Promise<T>): Promise<T> {
  await new Promise((resolve) => setTimeout(resolve, 100))
  return ask()
}
