/** redlock 5 and 4, side by side with Holdfast. */
import { createLocks, onLockEvent, type Locks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis6'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe } from 'vitest'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { aborted, Crowd, pass, sideBySide, succeeds } from './side-by-side.js'

/** The package's `exports` name no types. */
interface Redlock5 {
  using<T>(
    keys: string[],
    ttlMs: number,
    routine: (signal: AbortSignal & { error?: Error }) => Promise<T>,
  ): Promise<T>
  acquire(keys: string[], ttlMs: number): Promise<Lock5>
  on(event: 'error', listener: (error: unknown) => void): void
  quit(): Promise<void>
}
interface Lock5 {
  readonly expiration: number
  extend(ttlMs: number): Promise<Lock5>
  release(): Promise<unknown>
}
interface Redlock4 {
  lock(key: string | string[], ttlMs: number): Promise<Lock4>
  unlock(lock: Lock4): Promise<void>
  on(event: 'clientError', listener: (error: unknown) => void): void
  quit(): Promise<void>
}
interface Lock4 {
  readonly expiration: number
  extend(ttlMs: number): Promise<Lock4>
  unlock(): Promise<void>
}
interface Disposer4 {
  using<T>(disposer: unknown, use: (lock: Lock4) => Promise<T>): Promise<T>
}
type Make<T> = new (clients: Redis[], settings?: object) => T

const require = createRequire(import.meta.url)
const { default: Redlock } = require('redlock') as { default: Make<Redlock5> }
const OldRedlock = require('redlock4') as Make<
  Redlock4 & { disposer(key: string, ttlMs: number): unknown }
>
const { using } = require('bluebird') as Disposer4

let server: RedisServer
let client: Redis
let locks: Locks
let redlock: Redlock5
let redlock4: Redlock4 & { disposer(key: string, ttlMs: number): unknown }
let names = 0
const fresh = (): string => `key-${(names += 1)}`

beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.url)
  client.on('error', () => undefined)
  locks = createLocks(redisStore({ client }), { ttlMs: 5_000 })
  redlock = new Redlock([client])
  redlock.on('error', () => undefined)
  redlock4 = new OldRedlock([client])
  redlock4.on('clientError', () => undefined)
})

afterAll(async () => {
  await locks.close()
  client.disconnect()
  await server.stop()
})

/** Holds the key with the call, and returns what another caller sees meanwhile. */
async function whileHeld<T>(key: string, hold: 'old' | 'ours', use: () => Promise<T>): Promise<T> {
  if (hold === 'ours') return locks.mutex(key).run(() => locks.detached(use))
  return redlock.using([key], 5000, use)
}

const seconds = (ms: number): number => Math.round(ms / 1000)

describe('redlock 5', () => {
  sideBySide(
    'redlock',
    {
      '`new Redlock(clients, settings)`': {
        old: async () => {
          const crowd = new Crowd()
          const key = fresh()
          await Promise.all([1, 2, 3].map(() => redlock.using([key], 5000, crowd.enter)))
          return crowd.most
        },
        ours: async () => {
          const crowd = new Crowd()
          const key = fresh()
          await Promise.all([1, 2, 3].map(() => locks.mutex(key).run(crowd.enter)))
          return crowd.most
        },
      },
      '`using([key], 5000, routine)`': {
        old: () => redlock.using([fresh()], 5000, routine),
        ours: () => locks.mutex(fresh()).run((lease) => routine(lease.signal), { waitMs: 2_000 }),
      },
      '`using([a, b], 5000, routine)`': {
        old: () => redlock.using([fresh(), fresh()], 5000, routine),
        ours: () =>
          locks
            .multi([locks.mutex(fresh()), locks.mutex(fresh())])
            .run((lease) => routine(lease.signal), { waitMs: 2_000 }),
      },
      '`acquire([key], 5000)`': {
        old: async () => {
          const key = fresh()
          const lock = await redlock.acquire([key], 5000)
          const busy = !(await succeeds(() => once(redlock, key)))
          await lock.release()
          return { busy, free: await succeeds(() => once(redlock, key)) }
        },
        ours: async () => {
          const mutex = locks.mutex(fresh())
          const lease = await mutex.acquire({ ttlMs: 5_000, renew: false, waitMs: 2_000 })
          const busy = (await mutex.tryAcquire()) === undefined
          await lease.release()
          return { busy, free: (await mutex.tryAcquire()) !== undefined }
        },
      },
      '`retryCount: 0` and an `ExecutionError`': {
        old: async () => {
          const key = fresh()
          return whileHeld(key, 'old', async () => {
            const error: unknown = await once(redlock, key).catch((reason: unknown) => reason)
            return (error as Error).name === 'ExecutionError' ? 'busy' : error
          })
        },
        ours: async () => {
          const key = fresh()
          return whileHeld(key, 'ours', async () =>
            (await locks.mutex(key).tryAcquire()) === undefined ? 'busy' : 'granted',
          )
        },
      },
      '`retryCount` (10), `retryDelay` (200 ms)': {
        old: async () => {
          const key = fresh()
          const started = performance.now()
          const got = await whileHeld(key, 'old', () => succeeds(() => redlock.acquire([key], 500)))
          return { got, waited: performance.now() - started > 1500 }
        },
        ours: async () => {
          const key = fresh()
          const started = performance.now()
          const wait = { waitMs: 2_000 }
          const got = await whileHeld(key, 'ours', () =>
            succeeds(() => locks.mutex(key).acquire(wait)),
          )
          return { got, waited: performance.now() - started > 1500 }
        },
      },
      '`lock.extend(5000)`': {
        old: async () => {
          const lock = await redlock.acquire([fresh()], 1000)
          return seconds((await lock.extend(5000)).expiration - Date.now())
        },
        ours: async () => {
          const lease = await locks.mutex(fresh()).acquire({ ttlMs: 1_000, renew: false })
          await lease.renew({ ttlMs: 5_000 })
          return seconds(lease.remainingMs)
        },
      },
      '`lock.expiration`': {
        old: async () => {
          const lock = await redlock.acquire([fresh()], 3000)
          return seconds(lock.expiration - Date.now())
        },
        ours: async () => {
          const lease = await locks.mutex(fresh()).acquire({ ttlMs: 3_000, renew: false })
          return seconds(lease.remainingMs)
        },
      },
      '`lock.release()`': {
        old: async () => {
          const key = fresh()
          const lock = await redlock.acquire([key], 3000)
          const released = await succeeds(() => lock.release())
          const lost = await redlock.acquire([key], 3000)
          await client.del(key)
          return { released, ofLost: await succeeds(() => lost.release()) }
        },
        ours: async () => {
          const mutex = locks.mutex(fresh())
          const lease = await mutex.acquire()
          const released = await lease.release()
          const lost = await mutex.acquire()
          await locks.steal(mutex.name, { reason: 'a test', now: true })
          return { released, ofLost: await lost.release() }
        },
        differs: {
          old: { released: true, ofLost: false },
          ours: { released: 'released', ofLost: 'lost' },
        },
      },
      '`signal.aborted`, `signal.error`': {
        old: () => {
          const key = fresh()
          let seen: unknown
          return redlock
            .using([key], 1000, async (signal) => {
              await client.del(key)
              seen = { aborted: await aborted(signal), reason: signal.error instanceof Error }
            })
            .catch(() => seen)
        },
        ours: () => {
          const mutex = locks.mutex(fresh())
          let seen: unknown
          return mutex
            .run(async ({ signal }) => {
              await locks.steal(mutex.name, { reason: 'a test', now: true })
              seen = { aborted: await aborted(signal), reason: signal.reason instanceof Error }
            })
            .catch(() => seen)
        },
      },
      '`automaticExtensionThreshold`': {
        old: () =>
          redlock.using([fresh()], 700, async (signal) => {
            await pass(1500)
            return signal.aborted
          }),
        ours: () =>
          locks.mutex(fresh(), { ttlMs: 700 }).run(async ({ signal }) => {
            await pass(1500)
            return signal.aborted
          }),
      },
      "`redlock.on('error')`": {
        old: async () => {
          let errors = 0
          const apart = new Redlock([client], { retryCount: 0 })
          apart.on('error', () => (errors += 1))
          const key = fresh()
          await whileHeld(key, 'old', () => succeeds(() => apart.acquire([key], 100)))
          return errors > 0
        },
        ours: async () => {
          let errors = 0
          const stop = onLockEvent('error', () => (errors += 1))
          const key = fresh()
          await whileHeld(key, 'ours', () => locks.mutex(key).tryAcquire())
          stop()
          return errors > 0
        },
        // A busy lock is an error there.
        differs: { old: true, ours: false },
      },
      '`quit()`': {
        old: async () => {
          const own = new Redis(server.url)
          await new Redlock([own]).quit()
          await pass(10)
          return own.status
        },
        ours: async () => {
          const own = new Redis(server.url)
          await createLocks(redisStore({ client: own })).close()
          const { status } = own
          own.disconnect()
          return status === 'end' ? 'end' : 'still yours'
        },
        differs: { old: 'end', ours: 'still yours' },
      },
      // redlock 4.
      '`lock(key, 5000)`, then `lock.unlock()`': {
        old: async () => {
          const key = fresh()
          const lock = await redlock4.lock(key, 5000)
          const busy = !(await succeeds(() => once4(key)))
          await lock.unlock()
          return { busy, free: await succeeds(() => once4(key)) }
        },
        ours: async () => {
          const mutex = locks.mutex(fresh())
          const lease = await mutex.acquire({ ttlMs: 5_000, renew: false, waitMs: 2_000 })
          const busy = (await mutex.tryAcquire()) === undefined
          await lease.release()
          return { busy, free: (await mutex.tryAcquire()) !== undefined }
        },
      },
      '`using(redlock.disposer(key, 5000), routine)`': {
        old: () => using(redlock4.disposer(fresh(), 5000), async () => Promise.resolve('done')),
        ours: () => locks.mutex(fresh()).run(() => Promise.resolve('done'), { waitMs: 2_000 }),
      },
      "`redlock.on('clientError')`": {
        old: async () => {
          let errors = 0
          const apart = new OldRedlock([client], { retryCount: 0 })
          apart.on('clientError', () => (errors += 1))
          const key = fresh()
          const lock = await redlock4.lock(key, 5000)
          await succeeds(() => apart.lock(key, 100))
          await lock.unlock()
          return errors
        },
        ours: () => Promise.resolve(0),
      },
    },
    { '`driftFactor`': 'a constant in Holdfast, which user code does not see' },
  )
})

/** One attempt, as with `retryCount: 0`. */
function once(_redlock: Redlock5, key: string): Promise<Lock5> {
  return new Redlock([client], { retryCount: 0 }).acquire([key], 1000)
}

function once4(key: string): Promise<Lock4> {
  return new OldRedlock([client], { retryCount: 0 }).lock(key, 1000)
}

/** What the old routine reads of its argument. */
function routine(signal: AbortSignal): Promise<unknown> {
  return Promise.resolve({ aborted: signal.aborted, signal: signal instanceof AbortSignal })
}
