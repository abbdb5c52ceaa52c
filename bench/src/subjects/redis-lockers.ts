/**
 * Holdfast and its peers behind one small face, all over ioredis 5 on the same server. The peers
 * retry every 5 ms, which is in their favour. `…-defaults` leaves their defaults, and `…-queued`
 * puts a local queue in front of them. `run` is Holdfast without awaiting the release. `floor` is
 * the least that a pair with a token asks, `floor-run` the same for `run`, and `floor-socket` goes
 * without the client library. `own-calls` are the calls of Holdfast, sent by hand, and `own-runs`
 * those of `run`.
 */
import { LockFactory } from '@verrou/core'
import { redisStore as verrouStore } from '@verrou/core/drivers/redis'
import { Mutex as LocalMutex } from 'async-mutex'
import { createLocks, type Fairness } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis5'
import { Mutex } from 'redis-semaphore'
import Redlock from 'redlock'
import { createLock, IoredisAdapter, LockAcquisitionError } from 'redlock-universal'
import { redisOwnCalls, redisOwnRuns } from '../floors/redis-own-calls.js'
import { redisFloor, redisRunFloor, throughIoredis } from '../floors/redis.js'
import { throughSocket } from '../floors/redis-socket.js'
import { throughLeases, throughRuns } from '../holdfast-locker.js'
import type { Locker } from '../locker.js'

const FLOORS: Readonly<Record<string, (port: number) => Locker>> = {
  floor: (port) => redisFloor(throughIoredis(new Redis(port))),
  'floor-run': (port) => redisRunFloor(throughIoredis(new Redis(port))),
  'floor-socket': (port) => redisFloor(throughSocket(port)),
  'own-calls': (port) => redisOwnCalls(throughIoredis(new Redis(port))),
  'own-runs': (port) => redisOwnRuns(throughIoredis(new Redis(port))),
}

const TTL_MS = 30_000
const RETRY_MS = 5

/**
 * @param subject `cohort`, `fifo`, `run`, a floor, or the name of a peer, maybe with `-defaults` or
 * `-queued`
 * @param requestTimeoutMs of Holdfast, for a server that is slow on purpose
 */
export function makeLocker(subject: string, port: number, requestTimeoutMs?: number): Locker {
  const floor = FLOORS[subject]
  if (floor) return floor(port)
  const client = new Redis(port)
  if (subject === 'run') {
    return throughRuns(createLocks(redisStore({ client }), { awaitRelease: false }))
  }
  const [, name = '', variant] = /^([a-z-]+?)(-defaults|-queued)?$/.exec(subject) ?? []
  const plain =
    name === 'cohort' || name === 'fifo'
      ? holdfast(client, name, requestTimeoutMs)
      : makePlain(name, client, variant !== '-defaults')
  return variant === '-queued' ? queued(plain) : plain
}

function makePlain(name: string, client: Redis, eager: boolean): Locker {
  switch (name) {
    case 'redlock':
      return redlock(client, eager)
    case 'redis-semaphore':
      return redisSemaphore(client, eager)
    case 'redlock-universal':
      return redlockUniversal(client, eager)
    case 'verrou':
      return verrou(client, eager)
    default:
      throw new Error(`There is no subject ${name}.`)
  }
}

function holdfast(client: Redis, fairness: Fairness, requestTimeoutMs = 5000): Locker {
  return throughLeases(createLocks(redisStore({ client, requestTimeoutMs }), { fairness }))
}

function redlock(client: Redis, eager: boolean): Locker {
  const retry = eager ? { retryDelay: RETRY_MS, retryJitter: 0 } : {}
  const lock = new Redlock([client], { ...retry, retryCount: -1 })
  return (name) => async () => {
    const held = await lock.acquire([name], TTL_MS)
    return () => held.release()
  }
}

function redisSemaphore(client: Redis, eager: boolean): Locker {
  const retry = eager ? { retryInterval: RETRY_MS } : {}
  return (name) => async () => {
    const mutex = new Mutex(client, name, {
      lockTimeout: TTL_MS,
      acquireTimeout: Infinity,
      ...retry,
    })
    await mutex.acquire()
    return () => mutex.release()
  }
}

function redlockUniversal(client: Redis, eager: boolean): Locker {
  const adapter = new IoredisAdapter(client)
  const retry = eager ? { retryAttempts: 2 ** 31, retryDelay: RETRY_MS } : {}
  return (name) => async () => {
    // What it keeps of a lease it keeps in the lock, so each wish has one of its own.
    const options = { ttl: TTL_MS, performance: 'lean', circuitBreaker: false, ...retry } as const
    const lock = createLock({ adapter, key: name, ...options })
    for (;;) {
      try {
        const held = await lock.acquire()
        return () => lock.release(held)
      } catch (error) {
        // With its defaults it gives up after three attempts: then its caller retries.
        if (!(error instanceof LockAcquisitionError)) throw error
      }
    }
  }
}

function verrou(client: Redis, eager: boolean): Locker {
  const store = verrouStore({ connection: client }).factory()
  const factory = new LockFactory(store, { retry: eager ? { delay: RETRY_MS } : {} })
  return (name) => async () => {
    const lock = factory.createLock(name, TTL_MS)
    if (!(await lock.acquire())) throw new Error('verrou gave up')
    return () => lock.release()
  }
}

/**
 * What a careful user of a peer writes: the tasks of a process take turns before they go to the
 * server.
 */
function queued(locker: Locker): Locker {
  return (name) => {
    const [local, acquire] = [new LocalMutex(), locker(name)]
    return async () => {
      const leave = await local.acquire()
      const release = await acquire()
      return () => release().finally(leave)
    }
  }
}
