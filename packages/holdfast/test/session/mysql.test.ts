/** Session mode on MariaDB: what it refuses, and what becomes of a lock whose connection is gone. */
import { createHash } from 'node:crypto'
import { createLocks, type Locks, type LocksOptions } from 'holdfast'
import { mysqlStore } from 'holdfast/mysql'
import { createPool } from 'mysql2/promise'
import { afterAll, expect, test } from 'vitest'
import { startMariadb } from '@holdfast/servers/mariadb'
import { Proxy } from '@holdfast/servers/proxy'
import { endedAfterEach } from '../support/endings.js'

const server = await startMariadb()
const ending = endedAfterEach()
afterAll(() => server.remove())

function locksOf(of: LocksOptions & { url?: string; limit?: number } = {}): Locks<false> {
  const { url = server.url, limit = 4, ...options } = of
  const pool = createPool({ uri: url, connectionLimit: limit })
  ending.push(() => pool.end())
  const locks = createLocks(mysqlStore({ pool, mode: 'session' }), options)
  ending.push(() => locks.close({ graceMs: 0 }))
  return locks
}

const connections = (): string =>
  server.sql('select count(*) from information_schema.processlist where id <> connection_id()')
const nameOf = (lock: string): string => createHash('sha256').update(lock).digest('hex')
const owner = (lock: string): string => server.sql(`select is_used_lock('${nameOf(lock)}')`)

test('no table is needed, and other programs see the lock', async () => {
  const lease = await locksOf()
    .mutex(`a name of ${'many '.repeat(50)} characters`)
    .acquire()
  expect(Number(owner(lease.name))).toBeGreaterThan(0)
  expect(await lease.release()).toBe('released')
  expect(owner(lease.name)).toBe('NULL')
})

test('names differ by case', async () => {
  const locks = locksOf()
  const [small, large] = [await locks.mutex('a').acquire(), await locks.mutex('A').acquire({ waitMs: 0 })]
  expect([await small.release(), await large.release()]).toEqual(['released', 'released'])
})

test('a connection that is killed: the holder is told, the next comes in, and the client goes on', async () => {
  const [mine, other] = [locksOf({ ttlMs: 3000 }), locksOf()]
  const lease = await mine.mutex('killed').acquire()
  const lost = new Promise((resolve) =>
    lease.signal.addEventListener('abort', () => resolve(lease.signal.reason)),
  )
  server.sql(`kill ${owner('killed')}`)
  const next = await other.mutex('killed').acquire({ waitMs: 2000 })
  expect(await lost).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' })
  expect([lease.held, await lease.release()]).toEqual([false, 'lost'])
  await next.release()
  expect(await (await mine.mutex('killed').acquire({ waitMs: 2000 })).release()).toBe('released')
})

test('behind a dead network: the holder is told by its deadline, the next comes in soon after', async () => {
  const proxy = await Proxy.to(server.port)
  ending.push(() => proxy.close())
  const mine = locksOf({
    ttlMs: 1000,
    url: `mysql://root@127.0.0.1:${proxy.port}/app`,
    requestTimeoutMs: 500,
  })
  const lease = await mine.mutex('dark').acquire()
  proxy.faults.dropRequests = proxy.faults.dropReplies = true
  const startMs = performance.now()
  const told = new Promise<number>((resolve) =>
    lease.signal.addEventListener('abort', () => resolve(performance.now() - startMs)),
  )
  const next = await locksOf().mutex('dark').acquire({ waitMs: 6000 })
  expect(lease.held).toBe(false)
  expect(await told).toBeLessThan(1100)
  expect(await next.release()).toBe('released')
  proxy.heal()
  expect(await (await mine.mutex('dark').acquire({ waitMs: 6000 })).release()).toBe('released')
})

test('the longest TTL excludes as any other does, and a longer one is refused', async () => {
  const pool = createPool({ uri: server.url, connectionLimit: 4 })
  ending.push(() => pool.end())
  const store = mysqlStore({ pool, mode: 'session' })
  const [, longest] = store.traits.ttlMs
  const mine = createLocks(store, { ttlMs: longest })
  ending.push(() => mine.close({ graceMs: 0 }))
  const lease = await mine.mutex('for weeks').acquire()
  // A limit that no timer can count to would end the session with one of these.
  for (let index = 0; index < 10; index += 1) {
    expect(await (await mine.mutex(`beside ${index}`).acquire({ waitMs: 0 })).release()).toBe('released')
  }
  expect(await locksOf().mutex('for weeks').tryAcquire()).toBeUndefined()
  expect([lease.held, await lease.release()]).toEqual([true, 'released'])
  expect(() => locksOf({ ttlMs: longest + 1 })).toThrow('is not among them')
})

test('an answer that is lost while the session opens keeps nobody waiting for that connection', async () => {
  const proxy = await Proxy.to(server.port)
  ending.push(() => proxy.close())
  const pool = createPool({ uri: `mysql://root@127.0.0.1:${proxy.port}/app`, connectionLimit: 3 })
  ending.push(() => pool.end())
  await pool.query('select 1')
  const locks = createLocks(mysqlStore({ pool, mode: 'session', requestTimeoutMs: 1000 }))
  ending.push(() => locks.close({ graceMs: 0 }))
  proxy.faults.dropReplies = true
  const lost = locks.mutex('lost answer').tryAcquire()
  await expect(lost).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  proxy.heal()
  const works = (): Promise<boolean> =>
    locks
      .mutex('lost answer')
      .run(() => true)
      .catch(() => false)
  await expect.poll(works, { timeout: 10_000 }).toBe(true)
  // The pool has back what was given up.
  const spare = await Promise.all([pool.getConnection(), pool.getConnection()])
  for (const connection of spare) connection.release()
}, 20_000)

test('its connection is given back when nobody needs it', async () => {
  await expect.poll(connections, { timeout: 5000 }).toBe('0')
  const locks = locksOf({ ttlMs: 1000 })
  const lease = await locks.mutex('given back').acquire()
  expect(connections()).not.toBe('0')
  await lease.release()
  await expect.poll(connections, { timeout: 5000 }).toBe('0')
  expect(await (await locks.mutex('given back').acquire()).release()).toBe('released')
})

test('a server that takes no writes is refused, since others would lock elsewhere', async () => {
  server.sql('set global read_only = 1')
  const refused = await locksOf({ ttlMs: 1000 })
    .mutex('replica')
    .acquire()
    .catch((error: unknown) => error)
  server.sql('set global read_only = 0')
  expect(refused).toMatchObject({ code: 'STORE_CONFIG' })
})

test('what it has not is refused', async () => {
  const locks = locksOf()
  const unsupported = { code: 'UNSUPPORTED' }
  expect(() => locks.semaphore('s', { permits: 2 })).toThrow('no semaphore')
  expect(() => locks.readWriteLock('s').read).toThrow('no readWriteLock')
  await expect(locks.steal('s')).rejects.toMatchObject(unsupported)
  await expect(locks.inspect()).rejects.toMatchObject(unsupported)
  const small = locksOf({ limit: 1, ttlMs: 500 }).mutex('m').acquire()
  await expect(small).rejects.toMatchObject({ code: 'STORE_CONFIG' })
  const pool = createPool({ uri: server.url })
  ending.push(() => pool.end())
  expect(() => mysqlStore({ pool, mode: 'sessions' as never })).toThrow("mode is 'session'")
})
