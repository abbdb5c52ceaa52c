/**
 * Free locks over several Redis servers: `redlock-free.js SUBJECT PORTS LOOPS`, each loop on a lock
 * of its own. The subjects are `holdfast`, the Redlocks of its peers, and their floor.
 */
import { createLocks } from 'holdfast'
import { redlockStore } from 'holdfast/redlock'
import { Redis } from 'ioredis5'
import { RedlockMutex } from 'redis-semaphore'
import Redlock from 'redlock'
import { createRedlock, IoredisAdapter } from 'redlock-universal'
import { redlockFloor, throughIoredis } from '../floors/redis.js'
import { runFree, SLOW_WARM_UP_MS } from '../free.js'
import { throughLeases } from '../holdfast-locker.js'
import type { Locker } from '../locker.js'

const TTL_MS = 30_000
const RUN_MS = 1500
const [subject = 'holdfast', ports = '', loops = '1'] = process.argv.slice(2)

const LOCKERS: Readonly<Record<string, (clients: readonly Redis[]) => Locker>> = {
  holdfast: (clients) => throughLeases(createLocks(redlockStore({ clients }))),
  floor: (clients) => redlockFloor(clients.map(throughIoredis)),
  redlock(clients) {
    const lock = new Redlock(clients, {})
    return (name) => async () => {
      const held = await lock.acquire([name], TTL_MS)
      return () => held.release()
    }
  },
  'redis-semaphore'(clients) {
    return (name) => async () => {
      const mutex = new RedlockMutex([...clients], name, { lockTimeout: TTL_MS })
      await mutex.acquire()
      return () => mutex.release()
    }
  },
  'redlock-universal'(clients) {
    const adapters = clients.map((client) => new IoredisAdapter(client))
    return (name) => async () => {
      const lock = createRedlock({ adapters, key: name, ttl: TTL_MS })
      const held = await lock.acquire()
      return () => lock.release(held)
    }
  },
}

const make = LOCKERS[subject]
if (make === undefined) throw new Error(`There is no subject ${subject}.`)
await runFree(make(ports.split(',').map((port) => new Redis(Number(port)))), Number(loops), {
  runMs: RUN_MS,
  warmUpMs: SLOW_WARM_UP_MS,
  garbage: subject === 'holdfast',
})
