/** `inspect` of one lock, and `ping`. */
import { createLocks } from 'holdfast'
import { etcdStore } from 'holdfast/etcd'
import { memoryStore } from 'holdfast/memory'
import { mysqlStore } from 'holdfast/mysql'
import { postgresStore } from 'holdfast/postgres'
import { redisStore } from 'holdfast/redis'
import { redlockStore } from 'holdfast/redlock'
import { zookeeperStore } from 'holdfast/zookeeper'
import type { Store } from 'holdfast/store'
import { Redis } from 'ioredis6'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { makeWorld, outcomeOf } from '../support/world.js'

const DOWN = { host: '127.0.0.1', port: 1 }

function redisDown(): Redis {
  const client = new Redis({ ...DOWN, lazyConnect: true, retryStrategy: () => 50 })
  client.on('error', () => undefined)
  onTestFinished(() => client.disconnect())
  return client
}

describe('a lock of each kind', () => {
  test('inspect sends one request for that lock', async () => {
    const store = memoryStore()
    const inspect = vi.spyOn(store, 'inspect')
    const locks = createLocks(store, { namespace: 'shop' })
    const [reading, writing] = [locks.readWriteLock('rw').read, locks.readWriteLock('rw').write]
    await reading.acquire()
    const waits = outcomeOf(writing.acquire())
    for (const lock of [locks.readWriteLock('rw'), reading, writing]) {
      const { kind, holders, waiters, freePermits } = await lock.inspect()
      expect([kind, holders.length, waiters.length]).toEqual(['readWriteLock', 1, 1])
      expect(freePermits).toBeUndefined()
    }
    expect(inspect.mock.calls).toEqual(Array.from({ length: 3 }, () => [['shop:rw']]))
    await locks.close()
    await waits
  })

  test('a semaphore shows the permits that are in use by others', async () => {
    const store = memoryStore()
    const [one, two] = [createLocks(store), createLocks(store)]
    await one.semaphore('s', { permits: 4 }).acquire({ weight: 3 })
    const state = await two.semaphore('s', { permits: 4 }).withWeight(2).inspect()
    expect(state).toMatchObject({ lock: 's', capacity: 4, freePermits: 1 })
    expect(JSON.parse(JSON.stringify(state))).toMatchObject({ freePermits: 1 })
    expect((await two.semaphore('free', { permits: 4 }).inspect()).freePermits).toBe(4)
  })

  test('after close it rejects', async () => {
    const store = memoryStore()
    const locks = createLocks(store)
    const mutex = locks.mutex('a')
    await locks.close()
    expect(await outcomeOf(mutex.inspect())).toHaveProperty('error.code', 'LOCKS_CLOSED')
  })
})

describe('ping', () => {
  const away: readonly [name: string, open: () => Store][] = [
    ['redis', () => redisStore({ client: redisDown(), requestTimeoutMs: 300 })],
    [
      'redlock',
      () =>
        redlockStore({
          clients: [redisDown(), redisDown(), redisDown()],
          nodeTimeoutMs: 200,
          requestTimeoutMs: 300,
        }),
    ],
    ['postgres', () => postgresStore({ pool: new Pool(DOWN), requestTimeoutMs: 300 })],
    ['mysql', () => mysqlStore({ pool: createPool(DOWN), requestTimeoutMs: 300 })],
    ['etcd', () => etcdStore({ endpoints: ['127.0.0.1:1'] })],
    ['zookeeper', () => zookeeperStore({ connect: '127.0.0.1:1', connectTimeoutMs: 300 })],
  ]
  test.each(away)('%s rejects with a typed error when no server is there', async (name, open) => {
    const locks = createLocks(open())
    const outcome = await outcomeOf(locks.ping())
    expect(outcome).toMatchObject({ error: { code: 'STORE_UNAVAILABLE', store: name } })
    await locks.close()
  })

  test('its time is that of the answer', async () => {
    const world = makeWorld()
    vi.spyOn(world.store, 'inspect').mockImplementation(
      () =>
        new Promise((resolve) => {
          void world.clock.timer(70, () => resolve([]))
        }),
    )
    expect(await world.clock.until(world.client().ping())).toEqual({ latencyMs: 70 })
  })

  test('a signal ends it with its reason, before and during the request', async () => {
    const store = memoryStore()
    vi.spyOn(store, 'inspect').mockImplementation(() => new Promise(() => undefined))
    const locks = createLocks(store)
    const controller = new AbortController()
    const during = outcomeOf(locks.ping({ signal: controller.signal }))
    const reason = new Error('the check took too long')
    controller.abort(reason)
    expect(await during).toEqual({ error: reason })
    expect(await outcomeOf(locks.ping({ signal: controller.signal }))).toEqual({ error: reason })
  })

  test.each([{ signal: 5 }, { signal: {} }, null, 5, { timeoutMs: 5 }])(
    'bad input %j',
    async (options) => {
      const locks = createLocks(memoryStore())
      expect(await outcomeOf(locks.ping(options as object))).toHaveProperty(
        'error.code',
        'LOCK_USAGE',
      )
    },
  )

  test('an error of the store that is no LockError becomes one', async () => {
    const store = memoryStore()
    vi.spyOn(store, 'inspect').mockRejectedValue(new Error('unexpected'))
    const locks = createLocks(store)
    for (const asked of [locks.ping(), locks.mutex('a').inspect()]) {
      expect(await outcomeOf<unknown>(asked)).toMatchObject({
        error: { code: 'STORE_UNAVAILABLE', store: 'memory' },
      })
    }
  })
})
