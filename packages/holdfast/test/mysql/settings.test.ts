/** What a server, a database or a pool may be set to by others: locks are the same under it. */
import { createLocks, type Locks } from 'holdfast'
import { diagnose } from '../../dist/stores/mysql/diagnose.js'
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { CAPACITY_ALL } from 'holdfast/store'
import { createPool, type Pool, type PoolOptions } from 'mysql2/promise'
import { afterAll, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { after } from '../../../../test/support/after.js'

const server = await startMysql()
server.sql(mysqlSchema())
afterAll(() => server.remove())

/** A pool each of whose connections is set up so. */
function poolOf(setting?: string, options: PoolOptions = {}): Pool {
  const pool = createPool({ uri: server.url, connectionLimit: 3, ...options })
  if (setting !== undefined) pool.pool.on('connection', (connection) => connection.query(setting))
  after(() => pool.end())
  return pool
}

function locksOf(pool: Pool): Locks {
  const locks = createLocks(mysqlStore({ pool }))
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

test('a session that cuts long lists short: of many locks asked for at once, just the free ones are granted', async () => {
  const locks = locksOf(poolOf('set session group_concat_max_len = 4'))
  const names = Array.from({ length: 14 }, (_, index) => `cut ${String(index).padStart(2, '0')}`)
  const taken = names.slice(9)
  const held = await Promise.all(taken.map((name) => locksOf(poolOf()).mutex(name).acquire()))
  const leases = await Promise.all(names.map((name) => locks.mutex(name).tryAcquire()))
  expect(names.filter((_name, index) => leases[index] === undefined)).toEqual(taken)
  for (const lease of leases) expect(await (lease?.release() ?? 'released')).toBe('released')
  for (const lease of held) expect(await lease.release()).toBe('released')
})

test.each(['ucs2', 'utf16', 'utf32'])(
  'in a database in %s all who are to be woken are',
  async (charset) => {
    server.sql(
      `create database in_${charset} character set ${charset}; use in_${charset};\n${mysqlSchema()}`,
    )
    const uri = server.url.replace(/app$/, `in_${charset}`)
    const locks = locksOf(poolOf(undefined, { uri }))
    const writer = await locks.readWriteLock('wide').write.acquire()
    const woken = [1, 2].map(async (pid) => {
      const store = mysqlStore({ pool: poolOf(undefined, { uri }) })
      after(async () => store.close())
      const owner = { clientId: `reader ${pid}`, host: 'h', pid }
      const shape = {
        kind: 'readWriteLock',
        capacity: CAPACITY_ALL,
        weight: 1,
        ttlMs: 60_000,
      } as const
      const claim = { ...shape, lock: 'wide', id: `reader-${pid}`, heartbeatMs: 20_000, owner }
      let ready: unknown
      const called = new Promise((resolve) => {
        ready = store.watch(claim, () => resolve('woken')).ready
      })
      await ready
      const result = await store.attempt(claim, { enqueue: true, tokens: 1 })
      return { outcome: result.outcome, called }
    })
    const waiting = await Promise.all(woken)
    expect(waiting.map(({ outcome }) => outcome)).toEqual(['waiting', 'waiting'])
    await writer.release()
    // No other client wakes them, so a missed wake-up is not repeated.
    const late = new Promise((resolve) => void setTimeout(resolve, 5000, 'not woken'))
    const calls = waiting.map(({ called }) => Promise.race([called, late]))
    expect(await Promise.all(calls)).toEqual(['woken', 'woken'])
  },
)

test.each(['CHAIN', 'RELEASE'])(
  'a session whose commits end in %s locks like any other',
  async (completion) => {
    const [one, other] = [
      locksOf(poolOf(`set session completion_type = '${completion}'`)),
      locksOf(poolOf()),
    ]
    const names = [`one ${completion}`, `two ${completion}`]
    for (const name of names) {
      const lease = await one.mutex(name).acquire()
      expect(await other.mutex(name).tryAcquire()).toBeUndefined()
      const waiting = other.mutex(name).acquire({ waitMs: 5000 })
      await expect
        .poll(async () => (await one.inspect({ prefix: name })).locks[0]?.waiters.length)
        .toBe(1)
      expect(await lease.release()).toBe('released')
      expect(await one.mutex(name).tryAcquire()).toBeUndefined()
      expect((await one.inspect({ prefix: name })).locks.length).toBe(1)
      await (await waiting).release()
    }
    const leases = await Promise.all(names.map((name) => one.mutex(name).tryAcquire()))
    expect(leases.map((lease) => lease?.held)).toEqual([true, true])
    const more = await Promise.all(
      [...names, `three ${completion}`].map((name) => one.mutex(name).tryAcquire()),
    )
    expect(more.map((lease) => lease?.held)).toEqual([undefined, undefined, true])
    for (const lease of [...leases, ...more])
      expect(await (lease?.release() ?? 'released')).toBe('released')
  },
)

test('a session in safe-updates mode is examined like any other, and locks', async () => {
  const pool = poolOf('set session sql_safe_updates = 1')
  expect(await diagnose({ pool })).toMatchObject({ missing: [], denied: [] })
  server.sql(`create user viewer; grant select on app.* to viewer`)
  const uri = server.url.replace('root@', 'viewer@')
  const { denied } = await diagnose({ pool: poolOf('set session sql_safe_updates = 1', { uri }) })
  for (const right of ['INSERT', 'UPDATE', 'DELETE'])
    expect(denied).toContain(`${right} on holdfast_locks`)
  const locks = locksOf(pool)
  for (const lock of [locks.mutex('safe'), locks.semaphore('safe too', { permits: 2 })]) {
    const lease = await lock.acquire()
    expect(await lease.release()).toBe('released')
  }
})
