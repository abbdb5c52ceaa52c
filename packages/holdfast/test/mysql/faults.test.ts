/** What can happen to a server and its connections while locks are held and waited for. */
import { createLocks, type Locks, type LocksOptions } from 'holdfast'
import { mysqlSchema, mysqlStore, type MysqlPool, type MysqlStoreOptions } from 'holdfast/mysql'
import { createPool, type Pool, type PoolOptions } from 'mysql2/promise'
import { afterAll, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { after } from '../../../../test/support/after.js'

const server = await startMysql({ durable: true })
server.sql(mysqlSchema())
afterAll(() => server.remove())

function poolOf(options: PoolOptions = {}): Pool {
  const pool = createPool({ uri: server.url, connectionLimit: 3, ...options })
  after(() => pool.end())
  return pool
}

function locksOf(options: MysqlStoreOptions, of: LocksOptions = {}): Locks {
  const locks = createLocks(mysqlStore(options), of)
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

async function untilWaiting(lock: string, count: number): Promise<void> {
  const waiters = (): Promise<string> =>
    server.ask(`select count(*) from holdfast_waiters where name like '${lock}'`)
  await expect.poll(waiters, { timeout: 5000 }).toBe(String(count))
}

/** Resolves when the server shows none of them any more. */
async function killAll(): Promise<void> {
  const connections = `from information_schema.processlist where db = 'app' and id <> connection_id() and user = 'root'`
  const ids = await server.ask(`select id ${connections}`)
  // Some may have ended by themselves.
  const killing = ids
    .split('\n')
    .filter(Boolean)
    .map((id) => server.ask(`kill ${id}`))
  await Promise.allSettled(killing)
  const left = (): Promise<string> =>
    server.ask(`select count(*) ${connections} and id in (0${ids.replaceAll(/^/gm, ',')})`)
  await expect.poll(left, { timeout: 5000 }).toBe('0')
}

test('an exhausted pool: the outcome is unknown in time, and nothing is left of it', async () => {
  const pool = poolOf({ connectionLimit: 1 })
  const locks = locksOf({ pool, requestTimeoutMs: 1000 })
  const busy = await pool.getConnection()
  const failed: unknown = await locks
    .mutex('exhausted')
    .tryAcquire()
    .catch((error: unknown) => error)
  expect(failed).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  busy.release()
  await expect
    .poll(
      () =>
        server.ask(
          `select count(*) from holdfast_locks where name = 'exhausted' and (listed or sole_expires_us > 0)`,
        ),
      { timeout: 5000 },
    )
    .toBe('0')
  const lease = await locks.mutex('exhausted').acquire({ waitMs: 1000 })
  expect(await lease.release()).toBe('released')
})

test('with one connection waiters are granted without wake-ups', async () => {
  const lease = await locksOf({ pool: poolOf() }).mutex('alone').acquire()
  const waiting = locksOf({ pool: poolOf({ connectionLimit: 1 }) })
    .mutex('alone')
    .acquire()
  await untilWaiting('alone', 1)
  await lease.release()
  expect((await waiting).held).toBe(true)
})

test('connections: those of the pool, however many wait', async () => {
  const holder = locksOf({ pool: poolOf() })
  const waiting = locksOf({ pool: poolOf() })
  const names = Array.from({ length: 60 }, (_, index) => `many-${index}`)
  const leases = await Promise.all(names.map((name) => holder.mutex(name).acquire()))
  const next = names.map((name) => waiting.mutex(name).acquire())
  await untilWaiting('many-%', 60)
  const connections = await server.ask(
    `select count(*) from information_schema.processlist where db = 'app' and id <> connection_id()`,
  )
  expect(Number(connections)).toBeLessThanOrEqual(6)
  await Promise.all(leases.map((lease) => lease.release()))
  for (const lease of await Promise.all(next)) await lease.release()
})

test('a session without autocommit, and one that sees old rows, lock like any other', async () => {
  await server.ask('set global autocommit = 0; set global transaction isolation level serializable')
  const pool = poolOf()
  const [one, other] = [locksOf({ pool }), locksOf({ pool: poolOf() })]
  const lease = await one.mutex('sessions').acquire()
  expect(await other.mutex('sessions').tryAcquire()).toBeUndefined()
  expect(await lease.release()).toBe('released')
  const next = await other.mutex('sessions').tryAcquire()
  expect(next?.held).toBe(true)
  expect(await one.mutex('sessions').tryAcquire()).toBeUndefined()
  await server.ask(
    'set global autocommit = 1; set global transaction isolation level repeatable read',
  )
})

test('the pool of the caller is not closed, and none of its connections sleeps afterwards', async () => {
  const pool = poolOf()
  const [holder, waiter] = [
    createLocks(mysqlStore({ pool: poolOf() })),
    createLocks(mysqlStore({ pool })),
  ]
  const lease = await holder.mutex('open').acquire()
  const waiting = waiter.mutex('open').acquire()
  await untilWaiting('open', 1)
  await lease.release()
  await (await waiting).release()
  await waiter.close()
  await holder.close()
  await expect
    .poll(
      () =>
        server.ask(
          `select count(*) from information_schema.processlist where info like 'select sleep%'`,
        ),
      { timeout: 5000 },
    )
    .toBe('0')
  expect((await pool.query('select 1 as one'))[0]).toEqual([{ one: 1 }])
})

/** The bells that hang on the server. */
function bells(): Promise<string> {
  return server.ask(
    `select ifnull(group_concat(id), '') from information_schema.processlist where info like 'select sleep%'`,
  )
}

/**
 * A pool whose connections break at each check of the wake-up connection, as often as `times` says.
 */
function breaking(pool: Pool, times: number): MysqlPool & { readonly broken: number } {
  let left = times
  let broken = 0
  return {
    get broken() {
      return broken
    },
    query: (statement) => pool.query(statement),
    execute: (statement) => pool.execute(statement),
    async getConnection() {
      const connection = await pool.getConnection()
      return {
        query: (statement) => connection.query(statement),
        async execute(statement) {
          if (left === 0 || !statement.sql.includes('processlist'))
            return connection.execute(statement)
          left -= 1
          await expect.poll(bells, { timeout: 5000 }).not.toBe('')
          await killAll()
          broken += 1
          return connection.execute(statement)
        },
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      }
    },
  }
}

test('a wake-up connection that breaks during its start is replaced by one', async () => {
  const holder = locksOf({ pool: poolOf() })
  const lease = await holder.mutex('bells').acquire()
  const pool = breaking(poolOf({ connectionLimit: 6 }), 2)
  const waiting = locksOf({ pool }).mutex('bells').acquire()
  await expect.poll(() => pool.broken, { timeout: 10_000 }).toBe(2)
  await expect.poll(bells, { timeout: 5000 }).toMatch(/^\d+$/)
  // A second one would come as long after the break as the first.
  await new Promise((resolve) => void setTimeout(resolve, 700))
  expect(await bells()).toMatch(/^\d+$/)
  await lease.release()
  expect((await waiting).held).toBe(true)
})

/** A pool in which the check of the wake-up connection always fails. */
function blind(pool: Pool): MysqlPool {
  return {
    query: (statement) => pool.query(statement),
    execute: (statement) => pool.execute(statement),
    async getConnection() {
      const connection = await pool.getConnection()
      return {
        query: (statement) => connection.query(statement),
        async execute(statement) {
          if (statement.sql.includes('processlist')) throw new Error('no check succeeds')
          return connection.execute(statement)
        },
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      }
    },
  }
}

test('a wake-up connection whose check failed is closed as well when no caller waits', async () => {
  const lease = await locksOf({ pool: poolOf() }).mutex('half hung').acquire()
  const ending = new AbortController()
  const waiting = locksOf({ pool: blind(poolOf()) })
    .mutex('half hung')
    .acquire({ signal: ending.signal })
    .catch((error: unknown) => error)
  await expect.poll(bells, { timeout: 5000 }).toMatch(/^\d+$/)
  ending.abort('enough')
  expect(await waiting).toBe('enough')
  // Ten seconds without waiters, and five until the server notices the closed connection.
  await expect.poll(bells, { timeout: 25_000 }).toBe('')
  await lease.release()
})
