/** redis-semaphore, side by side with Holdfast. */
import { createLocks, LockTimeoutError, type Lease, type Locks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { redlockStore } from 'holdfast/redlock'
import { Redis } from 'ioredis6'
import {
  Mutex,
  MultiSemaphore,
  RedlockMutex,
  RedlockSemaphore,
  Semaphore,
  TimeoutError,
} from 'redis-semaphore'
import { afterAll, beforeAll } from 'vitest'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { aborted, pass, sideBySide, succeeds } from './side-by-side.js'

/** The library is typed for ioredis 5. */
type Client = ConstructorParameters<typeof Mutex>[0]

let server: RedisServer
let redis: Redis
let client: Client
let locks: Locks
let several: Locks
/** Three databases of one server stand for three servers. */
let nodes: Redis[]
let names = 0
const fresh = (): string => `key-${(names += 1)}`
/** A second holder, or the same one again, that does not wait. */
const HURRY = { acquireTimeout: 50, retryInterval: 10 }

beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.url)
  client = redis as unknown as Client
  locks = createLocks(redisStore({ client: redis }), { ttlMs: 10_000 })
  nodes = [0, 1, 2].map((db) => new Redis(server.url, { db }))
  several = createLocks(redlockStore({ clients: nodes }))
})

afterAll(async () => {
  await locks.close()
  await several.close()
  for (const each of [redis, ...nodes]) each.disconnect()
  await server.stop()
})

type OldLock = Pick<Mutex, 'tryAcquire' | 'release'>

/** Takes as many as it gets, and returns how many. */
async function countOld(make: () => OldLock): Promise<number> {
  const made = [1, 2, 3, 4, 5, 6, 7].map(make)
  const granted = await Promise.all(made.map((lock) => lock.tryAcquire()))
  await Promise.all(made.map((lock) => lock.release()))
  return granted.filter(Boolean).length
}

async function countOurs(take: () => Promise<Lease | undefined>): Promise<number> {
  const leases = await Promise.all([1, 2, 3, 4, 5, 6, 7].map(take))
  await Promise.all(leases.map(async (lease) => lease?.release()))
  return leases.filter((lease) => lease !== undefined).length
}

sideBySide('redis-semaphore', {
  '`new Mutex(redis, key, options)`': {
    old: () => {
      const key = fresh()
      return countOld(() => new Mutex(client, key, HURRY))
    },
    ours: () => {
      const mutex = locks.mutex(fresh())
      return countOurs(() => mutex.tryAcquire())
    },
  },
  '`new Semaphore(redis, key, 5)`': {
    old: () => {
      const key = fresh()
      return countOld(() => new Semaphore(client, key, 5, HURRY))
    },
    ours: () => {
      const semaphore = locks.semaphore(fresh(), { permits: 5 })
      return countOurs(() => semaphore.tryAcquire())
    },
  },
  '`new MultiSemaphore(redis, key, 5, 2)`': {
    old: () => {
      const key = fresh()
      return countOld(() => new MultiSemaphore(client, key, 5, 2, HURRY))
    },
    ours: () => {
      const semaphore = locks.semaphore(fresh(), { permits: 5 })
      return countOurs(() => semaphore.tryAcquire({ weight: 2 }))
    },
  },
  '`new RedlockMutex(clients, key)`': {
    old: () => {
      const key = fresh()
      return countOld(() => new RedlockMutex(nodes as unknown as Client[], key, HURRY))
    },
    ours: () => {
      const mutex = several.mutex(fresh())
      return countOurs(() => mutex.tryAcquire())
    },
  },
  '`RedlockSemaphore`, `RedlockMultiSemaphore`': {
    old: () => {
      const key = fresh()
      return countOld(() => new RedlockSemaphore(nodes as unknown as Client[], key, 5, HURRY))
    },
    ours: () => {
      const semaphore = locks.semaphore(fresh(), { permits: 5 })
      return countOurs(() => semaphore.tryAcquire())
    },
  },
  '`acquire()`, `TimeoutError`': {
    old: async () => {
      const key = fresh()
      const holder = new Mutex(client, key)
      await holder.acquire()
      const failed: unknown = await new Mutex(client, key, HURRY).acquire().catch((e: unknown) => e)
      await holder.release()
      return failed instanceof TimeoutError
    },
    ours: async () => {
      const mutex = locks.mutex(fresh())
      const holder = await mutex.acquire()
      const failed: unknown = await mutex.acquire({ waitMs: 50 }).catch((e: unknown) => e)
      await holder.release()
      return failed instanceof LockTimeoutError
    },
  },
  '`tryAcquire()`: a boolean, after up to 10 s': {
    old: async () => {
      const key = fresh()
      const holder = new Mutex(client, key)
      const first = await holder.tryAcquire()
      const second = await new Mutex(client, key, HURRY).tryAcquire()
      await holder.release()
      return [first, second]
    },
    ours: async () => {
      const mutex = locks.mutex(fresh())
      const [first, second] = [await mutex.tryAcquire(), await mutex.tryAcquire({ waitMs: 50 })]
      await first?.release()
      return [first !== undefined, second !== undefined]
    },
  },
  '`release()` on the mutex': {
    old: async () => {
      const key = fresh()
      const mutex = new Mutex(client, key)
      await mutex.acquire()
      await mutex.release()
      return new Mutex(client, key, HURRY).tryAcquire()
    },
    ours: async () => {
      const mutex = locks.mutex(fresh())
      const lease = await mutex.acquire()
      await lease.release()
      return (await mutex.tryAcquire()) !== undefined
    },
  },
  '`isAcquired`': {
    old: async () => {
      const mutex = new Mutex(client, fresh())
      await mutex.acquire()
      const held = mutex.isAcquired
      await mutex.release()
      return [held, mutex.isAcquired]
    },
    ours: async () => {
      const lease = await locks.mutex(fresh()).acquire()
      const { held } = lease
      await lease.release()
      return [held, lease.held]
    },
  },
  '`lockTimeout` (10 s)': {
    old: async () => {
      const key = fresh()
      const mutex = new Mutex(client, key, { lockTimeout: 3_000 })
      await mutex.acquire()
      const left = await redis.pttl(`mutex:${key}`)
      await mutex.release()
      return Math.round(left / 1000)
    },
    ours: async () => {
      const lease = await locks.mutex(fresh(), { ttlMs: 3_000 }).acquire()
      const left = lease.remainingMs
      await lease.release()
      return Math.round(left / 1000)
    },
  },
  '`refreshInterval` (0.8 of it), `0` for none': {
    old: async () => {
      const key = fresh()
      await new Mutex(client, key, { lockTimeout: 1_000, refreshInterval: 0 }).acquire()
      await pass(1_200)
      return new Mutex(client, key, HURRY).tryAcquire()
    },
    ours: async () => {
      const mutex = locks.mutex(fresh())
      await mutex.acquire({ ttlMs: 1_000, renew: false })
      await pass(1_200)
      return (await mutex.tryAcquire()) !== undefined
    },
  },
  '`stopRefresh()`': {
    old: async () => {
      const key = fresh()
      const mutex = new Mutex(client, key, { lockTimeout: 1_000 })
      await mutex.acquire()
      mutex.stopRefresh()
      await pass(1_200)
      return new Mutex(client, key, HURRY).tryAcquire()
    },
    ours: async () => {
      const mutex = locks.mutex(fresh(), { ttlMs: 1_000 })
      const lease = await mutex.acquire()
      await lease.export()
      await pass(1_200)
      return (await mutex.tryAcquire()) !== undefined
    },
  },
  '`acquireTimeout` (10 s)': {
    old: async () => {
      const key = fresh()
      await new Mutex(client, key).acquire()
      return succeeds(() => new Mutex(client, key, HURRY).acquire())
    },
    ours: async () => {
      const mutex = locks.mutex(fresh())
      await mutex.acquire()
      return succeeds(() => mutex.acquire({ waitMs: 50 }))
    },
  },
  '`acquireAttemptsLimit`, `retryInterval` (10 ms)': {
    old: async () => {
      const key = fresh()
      await new Mutex(client, key).acquire()
      return succeeds(() => new Mutex(client, key, { acquireAttemptsLimit: 1 }).acquire())
    },
    ours: async () => {
      const mutex = locks.mutex(fresh())
      await mutex.acquire()
      return succeeds(() => mutex.acquire({ waitMs: 0 }))
    },
  },
  '`onLockLost`': {
    old: async () => {
      const key = fresh()
      const lost = new AbortController()
      const options = { lockTimeout: 1_000, refreshInterval: 100 }
      const mutex = new Mutex(client, key, { ...options, onLockLost: () => lost.abort() })
      await mutex.acquire()
      await redis.del(`mutex:${key}`)
      return aborted(lost.signal)
    },
    ours: async () => {
      const mutex = locks.mutex(fresh(), { ttlMs: 1_000 })
      const lease = await mutex.acquire()
      await locks.steal(mutex.name, { reason: 'a test', now: true })
      return aborted(lease.signal)
    },
  },
  '`identifier` and `acquiredExternally: true`': {
    old: async () => {
      const key = fresh()
      const here = new Mutex(client, key)
      await here.acquire()
      here.stopRefresh()
      const { identifier } = here
      const there = new Mutex(client, key, { identifier, acquiredExternally: true })
      await there.acquire()
      const held = there.isAcquired
      await there.release()
      return { held, free: await new Mutex(client, key, HURRY).tryAcquire() }
    },
    ours: async () => {
      const mutex = locks.mutex(fresh())
      const handle = await (await mutex.acquire()).export()
      const there = await mutex.adopt(handle)
      const { held } = there
      await there.release()
      return { held, free: (await mutex.tryAcquire()) !== undefined }
    },
  },
})
