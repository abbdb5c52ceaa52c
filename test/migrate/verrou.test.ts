/** verrou, side by side with Holdfast. */
import { Verrou } from '@verrou/core'
import { redisStore as redisDriver } from '@verrou/core/drivers/redis'
import { createLocks, LockTimeoutError, type Locks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis6'
import { afterAll, beforeAll } from 'vitest'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { Crowd, pass, sideBySide, succeeds } from './side-by-side.js'

let server: RedisServer
let client: Redis
let locks: Locks
let verrou: Verrou<{ redis: { driver: ReturnType<typeof redisDriver> } }>
let names = 0
const fresh = (): string => `key-${(names += 1)}`

beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.url)
  locks = createLocks(redisStore({ client }))
  // The driver is typed for ioredis 5.
  const connection = client as unknown as Parameters<typeof redisDriver>[0]['connection']
  const driver = redisDriver({ connection })
  verrou = new Verrou({ default: 'redis', stores: { redis: { driver } } })
})
afterAll(async () => {
  await locks.close()
  client.disconnect()
  await server.stop()
})

const seconds = (ms: number | null): number => Math.round((ms ?? 0) / 1000)

sideBySide(
  'verrou',
  {
    '`new Verrou({ default, stores })`, `use(store)`': {
      old: async () => verrou.use('redis').createLock(fresh()).acquireImmediately(),
      ours: async () =>
        (await createLocks(redisStore({ client })).mutex(fresh()).tryAcquire()) !== undefined,
    },
    "`createLock(key, '10s')`": {
      old: async () => {
        const lock = verrou.createLock(fresh(), '10s')
        await lock.acquire()
        return seconds(lock.getRemainingTime())
      },
      ours: async () =>
        seconds((await locks.mutex(fresh(), { ttlMs: 10_000 }).acquire()).remainingMs),
    },
    '`lock.acquire()`: a boolean': {
      old: async () => verrou.createLock(fresh()).acquire(),
      ours: async () => (await locks.mutex(fresh()).acquire()).held,
    },
    '`acquire({ retry: { timeout: 5_000 } })`': {
      old: async () => {
        const key = fresh()
        await verrou.createLock(key).acquire()
        return verrou.createLock(key).acquire({ retry: { timeout: 100, delay: 20 } })
      },
      ours: async () => {
        const mutex = locks.mutex(fresh())
        await mutex.acquire()
        return (await mutex.tryAcquire({ waitMs: 100 })) !== undefined
      },
    },
    '`acquireImmediately()`': {
      old: async () => {
        const key = fresh()
        const first = await verrou.createLock(key).acquireImmediately()
        return [first, await verrou.createLock(key).acquireImmediately()]
      },
      ours: async () => {
        const mutex = locks.mutex(fresh())
        const [first, second] = [await mutex.tryAcquire(), await mutex.tryAcquire()]
        return [first !== undefined, second !== undefined]
      },
    },
    '`run(callback)`: `[executed, result]`': {
      old: async () => {
        const [key, crowd] = [fresh(), new Crowd()]
        await Promise.all([1, 2].map(() => verrou.createLock(key).run(crowd.enter)))
        const [, result] = await verrou.createLock(key).run(() => Promise.resolve('result'))
        return { most: crowd.most, result }
      },
      ours: async () => {
        const [mutex, crowd] = [locks.mutex(fresh()), new Crowd()]
        await Promise.all([1, 2].map(() => mutex.run(crowd.enter)))
        return { most: crowd.most, result: await mutex.run(() => 'result') }
      },
    },
    '`runImmediately(callback)`': {
      old: async () => {
        const key = fresh()
        await verrou.createLock(key).acquire()
        const [executed] = await verrou.createLock(key).runImmediately(() => Promise.resolve())
        return executed
      },
      ours: async () => {
        const mutex = locks.mutex(fresh())
        await mutex.acquire()
        const failed: unknown = await mutex
          .run(() => undefined, { waitMs: 0 })
          .catch((error: unknown) => error)
        return !(failed instanceof LockTimeoutError)
      },
    },
    "`extend('10s')`": {
      old: async () => {
        const lock = verrou.createLock(fresh(), '2s')
        await lock.acquire()
        await lock.extend('10s')
        return seconds(lock.getRemainingTime())
      },
      ours: async () => {
        const lease = await locks.mutex(fresh(), { ttlMs: 2_000 }).acquire()
        await lease.renew({ ttlMs: 10_000 })
        return seconds(lease.remainingMs)
      },
    },
    '`release()`, `E_LOCK_NOT_OWNED`': {
      old: async () => {
        const key = fresh()
        const lock = verrou.createLock(key)
        await lock.acquire()
        await client.del(key)
        return (await succeeds(() => lock.release())) ? 'released' : 'lost'
      },
      ours: async () => {
        const mutex = locks.mutex(fresh())
        const lease = await mutex.acquire()
        await locks.steal(mutex.name, { reason: 'a test', now: true })
        return lease.release()
      },
    },
    '`isExpired()`, `getRemainingTime()`': {
      old: async () => {
        const lock = verrou.createLock(fresh(), 1_000)
        await lock.acquire()
        const before = lock.isExpired()
        await pass(1_100)
        return [before, lock.isExpired()]
      },
      ours: async () => {
        const lease = await locks.mutex(fresh()).acquire({ ttlMs: 1_000, renew: false })
        const before = lease.held
        await pass(1_100)
        return [!before, !lease.held]
      },
    },
    '`isLocked()`, `getOwner()`': {
      old: async () => {
        const lock = verrou.createLock(fresh())
        const before = await lock.isLocked()
        await lock.acquire()
        return [before, await lock.isLocked()]
      },
      ours: async () => {
        const mutex = locks.mutex(fresh())
        const isLocked = async (): Promise<boolean> => (await mutex.inspect()).holders.length > 0
        const before = await isLocked()
        await mutex.acquire()
        return [before, await isLocked()]
      },
    },
    '`forceRelease()`': {
      old: async () => {
        const key = fresh()
        await verrou.createLock(key).acquire()
        await verrou.createLock(key).forceRelease()
        return verrou.createLock(key).acquireImmediately()
      },
      ours: async () => {
        const mutex = locks.mutex(fresh())
        await mutex.acquire()
        const others = createLocks(redisStore({ client }))
        await others.steal(mutex.name, { reason: 'a test', now: true })
        return (await others.mutex(mutex.name).tryAcquire()) !== undefined
      },
    },
    '`serialize()`, `restoreLock()`': {
      old: async () => {
        const key = fresh()
        const lock = verrou.createLock(key)
        await lock.acquire()
        await verrou.restoreLock(lock.serialize()).release()
        return verrou.createLock(key).acquireImmediately()
      },
      ours: async () => {
        const mutex = locks.mutex(fresh())
        const handle = await (await mutex.acquire()).export()
        await (await mutex.adopt(handle)).release()
        return (await mutex.tryAcquire()) !== undefined
      },
    },
  },
  { 'a TTL of `null`': 'a lease that never ends is not offered, which the page says' },
)
