/**
 * `JSON.stringify` and `console.log` of what users get: tokens are decimal strings in JSON, and
 * nothing throws.
 */
import { inspect } from 'node:util'
import {
  createLocks,
  DeadlockError,
  LeaseAtRiskError,
  LockLostError,
  LockQueueFullError,
  LockTimeoutError,
  onLockEvent,
  StoreUnavailableError,
  VersionConflictError,
  type LockEvents,
} from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { etcdStore } from 'holdfast/etcd'
import { memoryStore } from 'holdfast/memory'
import { mysqlStore } from 'holdfast/mysql'
import { postgresStore } from 'holdfast/postgres'
import { redisStore } from 'holdfast/redis'
import { zookeeperStore } from 'holdfast/zookeeper'
import { Redis } from 'ioredis6'
import mysql from 'mysql2/promise'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { makeWorld } from '../support/world.js'

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown

test('leases, multi-leases, what inspect shows, events and errors', async () => {
  const locks = makeWorld().direct()
  const granted: LockEvents['granted'][] = []
  const stop = onLockEvent('granted', (event) => void granted.push(event))
  const lease = await locks.mutex('a').acquire()
  stop()
  const token = String(lease.token)
  expect(json(lease)).toMatchObject({ name: 'a', claimId: lease.claimId, token, held: true })
  expect(json(granted)).toMatchObject([{ lock: 'a', token }])
  expect(json((await locks.inspect()).locks)).toMatchObject([
    { lock: 'a', lastToken: token, holders: [{ token }] },
  ])
  expect(json(await locks.election('a').leader())).toMatchObject({ token })
  const multi = await locks.multi([locks.mutex('b'), locks.mutex('c')]).acquire()
  expect(json(multi)).toMatchObject({ held: true, leases: [{ name: 'b' }, { name: 'c' }] })
  const error = new LockTimeoutError(5, { lock: 'a' })
  expect(json(error)).toMatchObject({
    name: 'LockTimeoutError',
    code: 'LOCK_TIMEOUT',
    message: error.message,
    lock: 'a',
  })
})

test('no log shows the number that stands for the whole capacity of a lock', async () => {
  const locks = makeWorld().direct()
  const events: unknown[] = []
  const names = ['attempted', 'queued', 'granted', 'released', 'error'] as const
  const stops = names.map((name) => onLockEvent(name, (event) => void events.push(event)))
  const lease = await locks.mutex('a').acquire()
  const waiting = locks.mutex('a').acquire()
  const reader = await locks.readWriteLock('rw').read.acquire()
  const mismatch: unknown = await locks
    .semaphore('a', { permits: 2 })
    .tryAcquire()
    .catch((error: unknown) => error)
  const other: unknown = await locks
    .readWriteLock('s')
    .read.acquire()
    .then(() => locks.semaphore('s', { permits: 2 }).tryAcquire())
    .catch((error: unknown) => error)
  const state = await locks.mutex('a').inspect()
  const values = [mismatch, other, state, await locks.inspect(), lease, reader, events]
  for (const value of values) expect(shown(value)).not.toContain('2147483647')
  expect(json(state)).toMatchObject({
    capacity: 'all',
    holders: [{ weight: 'all' }],
  })
  expect(inspect(state)).toContain("weight: 'all'")
  expect(json(mismatch)).toMatchObject({ inUse: { kind: 'mutex', capacity: 'all' } })
  expect((mismatch as Error).message).toContain(
    'is in use as a mutex, and was asked for as a semaphore of capacity 2.',
  )
  // Programs still compare numbers.
  expect(state.holders[0]?.weight).toBe(state.capacity)
  for (const stop of stops) stop()
  await lease.release()
  await (await waiting).release()
})

test('console.log of a lease shows its name, token and state', async () => {
  const locks = makeWorld().direct()
  const lease = await locks.mutex('shown').acquire()
  expect(inspect({ lease })).toContain(`name: 'shown'`)
  expect(inspect(lease)).toContain(`token: '${String(lease.token)}'`)
  expect(inspect(lease)).toContain('held: true')
  await lease.release()
  expect(inspect(lease)).toContain('held: false')
})

const SECRET = 'hunter2'

/** Returns the first value of a generator. */
async function anext<T>(values: AsyncIterable<T>): Promise<T | undefined> {
  for await (const value of values) return value
  return undefined
}

/** Returns what a log shows of a value, in both ways. */
function shown(value: unknown): string {
  return JSON.stringify(value) + inspect(value, { depth: 20 })
}

test('every object that a client hands out is shown without the store and its secrets', async () => {
  const store = Object.assign(memoryStore(), { password: SECRET, self: {} })
  store.self = store
  const locks = createLocks(store)
  const lease = await locks.mutex('a').acquire()
  const flight = locks.singleFlight('f')
  const { read, write } = locks.readWriteLock('rw')
  const values = [
    locks,
    locks.mutex('a'),
    [read, write, locks.readWriteLock('rw')],
    locks.semaphore('s', { permits: 2 }),
    locks.semaphore('s', { permits: 2 }).withWeight(2),
    locks.multi([locks.mutex('a')]),
    locks.striped('t', { stripes: 2 }),
    locks.election('e'),
    flight,
    lease,
    lease.signal,
    await locks.multi([locks.mutex('b'), read]).acquire(),
    await locks.inspect(),
    await locks.mutex('b').inspect(),
    await locks.ping(),
    await locks.steal('b'),
    await locks.oncePerTick('a', () => undefined, { atLeastMs: 1 }),
    await anext(locks.election('a').observe()),
    await anext(locks.election('none').observe()),
  ]
  for (const value of values) expect(shown(value)).not.toContain(SECRET)
  await locks.close()
})

test('stores are shown without the passwords of their clients', async () => {
  const port = 9
  const [redis, pool, connections] = [
    new Redis({ port, password: SECRET, lazyConnect: true }),
    new Pool({ port, password: SECRET }),
    mysql.createPool({ port, password: SECRET }),
  ]
  const stores = [
    memoryStore(),
    embeddedStore(),
    redisStore({ client: redis }),
    postgresStore({ pool }),
    mysqlStore({ pool: connections }),
    etcdStore({ endpoints: ['http://127.0.0.1:9'], credentials: { user: 'a', password: SECRET } }),
    zookeeperStore({
      connect: '127.0.0.1:9',
      auth: { scheme: 'digest', user: 'a', password: SECRET },
    }),
  ]
  for (const store of stores) {
    expect(shown(store)).not.toContain(SECRET)
    await store.close()
  }
  redis.disconnect()
  await pool.end()
  await connections.end()
})

test('errors are shown with their fields, and with no field of a foreign cause', () => {
  const refused = Object.assign(new Error('WRONGPASS'), {
    code: 'ERR_AUTH',
    command: { name: 'auth', args: [SECRET] },
  })
  const loops: Record<string, unknown> = { n: 1n }
  loops['self'] = loops
  const errors = [
    new StoreUnavailableError('The store refuses.', { cause: refused, serverCode: 'WRONGPASS' }),
    new StoreUnavailableError('It fails.', { cause: new Error('outer', { cause: refused }) }),
    new StoreUnavailableError('It fails.', { cause: loops }),
    new StoreUnavailableError('It fails.', {
      cause: new LockTimeoutError(5, { lock: 'a', cause: refused }),
    }),
  ]
  for (const error of errors) expect(shown(error)).not.toContain(SECRET)
  const step = { lock: 'a', claimId: '1', host: 'h', pid: 1, waitsFor: 'b', token: 1n }
  expect(json(new DeadlockError([step as never], { lock: 'a' }))).toMatchObject({
    code: 'DEADLOCK',
    cycle: [{ lock: 'a', token: '1' }],
  })
  expect(json(new LeaseAtRiskError(12, { lock: 'a' }))).toMatchObject({ remainingMs: 12 })
  expect(json(new LockQueueFullError(3, { lock: 'a' }))).toMatchObject({ maxWaiters: 3 })
  expect(json(errors[0])).toEqual({
    name: 'StoreUnavailableError',
    code: 'STORE_UNAVAILABLE',
    message: 'The store refuses.',
    serverCode: 'WRONGPASS',
    cause: { name: 'Error', code: 'ERR_AUTH', message: 'WRONGPASS' },
  })
  expect(inspect(errors[0])).toMatch(/^StoreUnavailableError: The store refuses\.\n {4}at /)
  expect(inspect(errors[1])).toMatch(/\[cause\]: Error: outer[^]*\[cause\]: Error: WRONGPASS/)
  expect(json(new LockLostError('stolen', { lock: 'a', stealReason: 'stuck' }))).toMatchObject({
    reason: 'stolen',
    stealReason: 'stuck',
  })
  expect(json(new VersionConflictError(3, { lock: 'a' }))).toMatchObject({ tries: 3 })
})

test('an event shows a foreign error without its fields, and its token as text', async () => {
  const world = makeWorld()
  const events: LockEvents['granted'][] = []
  const stop = onLockEvent('granted', (event) => void events.push(event))
  await world.direct().mutex('a').acquire()
  stop()
  expect(inspect(events[0])).toMatch(/token: '\d+'/)
  const cause = Object.assign(new Error('no'), { big: 1n, password: SECRET })
  const failing = {
    ...memoryStore(),
    name: 'failing',
    traits: memoryStore().traits,
    attempt: () => Promise.reject(new StoreUnavailableError('Away.', { cause })),
    withdraw: () => Promise.reject(cause),
  }
  const errors: unknown[] = []
  const end = onLockEvent('error', (event) => void errors.push(event))
  await expect(
    createLocks(failing as never)
      .mutex('a')
      .tryAcquire(),
  ).rejects.toThrow('Away.')
  end()
  expect(shown(errors)).not.toContain(SECRET)
})

test('a lease shows its end as an ISO time, and nothing when it has ended', async () => {
  const lease = await makeWorld().direct().mutex('a').acquire()
  expect(json(lease)).toMatchObject({ endsAt: expect.stringMatching(/^\d{4}-.*Z$/) as string })
  await lease.release()
  expect(json(lease)).not.toHaveProperty('endsAt')
})
