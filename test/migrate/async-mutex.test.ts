/** async-mutex, side by side with Holdfast. */
import {
  E_ALREADY_LOCKED,
  E_CANCELED,
  E_TIMEOUT,
  Mutex,
  Semaphore,
  tryAcquire,
  withTimeout,
} from 'async-mutex'
import { createLocks, LockTimeoutError, type Locks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { afterAll, beforeAll } from 'vitest'
import { Crowd, sideBySide } from './side-by-side.js'

let locks: Locks
let names = 0
const fresh = (): string => `lock-${(names += 1)}`
const failure = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  )

beforeAll(() => {
  locks = createLocks(memoryStore())
})
afterAll(() => locks.close())

const LEFT_OUT = 'left out on purpose, which the page says'

sideBySide(
  'async-mutex',
  {
    '`new Mutex()`': {
      old: async () => {
        const [one, other] = [new Mutex(), new Mutex()]
        await one.acquire()
        await other.acquire()
        return [one.isLocked(), other.isLocked()]
      },
      ours: async () => {
        const leases = [await locks.mutex(fresh()).acquire(), await locks.mutex(fresh()).acquire()]
        return leases.map(({ held }) => held)
      },
    },
    '`mutex.runExclusive(fn)`': {
      old: async () => {
        const [mutex, crowd] = [new Mutex(), new Crowd()]
        await Promise.all([1, 2, 3].map(() => mutex.runExclusive(crowd.enter)))
        return { most: crowd.most, value: await mutex.runExclusive(() => 'value') }
      },
      ours: async () => {
        const [mutex, crowd] = [locks.mutex(fresh()), new Crowd()]
        await Promise.all([1, 2, 3].map(() => mutex.run(crowd.enter)))
        return { most: crowd.most, value: await mutex.run(() => 'value') }
      },
    },
    '`const release = await mutex.acquire()`': {
      old: async () => {
        const mutex = new Mutex()
        const release = await mutex.acquire()
        const before = mutex.isLocked()
        release()
        return [before, mutex.isLocked()]
      },
      ours: async () => {
        const mutex = locks.mutex(fresh())
        const lease = await mutex.acquire()
        const before = (await mutex.inspect()).holders.length === 1
        await lease.release()
        return [before, (await mutex.inspect()).holders.length === 1]
      },
    },
    '`withTimeout(mutex, 100)`, `E_TIMEOUT`': {
      old: async () => {
        const mutex = new Mutex()
        await mutex.acquire()
        return (await failure(withTimeout(mutex, 100).acquire())) === E_TIMEOUT
      },
      ours: async () => {
        const mutex = locks.mutex(fresh())
        await mutex.acquire()
        return (await failure(mutex.acquire({ waitMs: 100 }))) instanceof LockTimeoutError
      },
    },
    '`tryAcquire(mutex)`, `E_ALREADY_LOCKED`': {
      old: async () => {
        const mutex = new Mutex()
        await mutex.acquire()
        return (await failure(tryAcquire(mutex).acquire())) === E_ALREADY_LOCKED
      },
      ours: async () => {
        const mutex = locks.mutex(fresh())
        await mutex.acquire()
        return (await mutex.tryAcquire()) === undefined
      },
    },
    '`new Semaphore(5)`': {
      old: async () => {
        const [semaphore, crowd] = [new Semaphore(5), new Crowd()]
        await Promise.all(Array.from({ length: 9 }, () => semaphore.runExclusive(crowd.enter)))
        return crowd.most
      },
      ours: async () => {
        const [semaphore, crowd] = [locks.semaphore(fresh(), { permits: 5 }), new Crowd()]
        await Promise.all(Array.from({ length: 9 }, () => semaphore.run(crowd.enter)))
        return crowd.most
      },
    },
    '`semaphore.runExclusive(fn, 2)`': {
      old: async () => {
        const [semaphore, crowd] = [new Semaphore(5), new Crowd()]
        await Promise.all([1, 2, 3].map(() => semaphore.runExclusive(crowd.enter, 2)))
        return crowd.most
      },
      ours: async () => {
        const [semaphore, crowd] = [locks.semaphore(fresh(), { permits: 5 }), new Crowd()]
        await Promise.all([1, 2, 3].map(() => semaphore.run(crowd.enter, { weight: 2 })))
        return crowd.most
      },
    },
    '`isLocked()`, `getValue()`': {
      old: async () => {
        const semaphore = new Semaphore(5)
        await semaphore.acquire()
        return semaphore.getValue()
      },
      ours: async () => {
        const semaphore = locks.semaphore(fresh(), { permits: 5 })
        await semaphore.acquire()
        return (await semaphore.inspect()).freePermits
      },
    },
    '`cancel()`': {
      old: async () => {
        const mutex = new Mutex()
        await mutex.acquire()
        const waiting = failure(mutex.acquire())
        mutex.cancel()
        return (await waiting) === E_CANCELED
      },
      ours: async () => {
        const mutex = locks.mutex(fresh())
        await mutex.acquire()
        const [stop, reason] = [new AbortController(), new Error('cancelled')]
        const waiting = failure(mutex.acquire({ signal: stop.signal }))
        stop.abort(reason)
        return (await waiting) === reason
      },
    },
    '`setValue(n)`': {
      old: async () => {
        const [semaphore, crowd] = [new Semaphore(2), new Crowd()]
        semaphore.setValue(3)
        await Promise.all(Array.from({ length: 9 }, () => semaphore.runExclusive(crowd.enter)))
        return crowd.most
      },
      ours: async () => {
        const [name, crowd] = [fresh(), new Crowd()]
        await locks.semaphore(name, { permits: 2 }).run(() => undefined)
        const semaphore = locks.semaphore(name, { permits: 3, onMismatch: 'follow' })
        await Promise.all(Array.from({ length: 9 }, () => semaphore.run(crowd.enter)))
        return crowd.most
      },
    },
  },
  {
    '`waitForUnlock()`': LEFT_OUT,
    '`acquire(weight, priority)`': LEFT_OUT,
    '`release(weight)` in parts': LEFT_OUT,
  },
)
