/**
 * Connections that a program returned to its pool inside of a transaction. The program may undo
 * what happens there, so no lock may be granted on them, and nothing of the program is committed.
 */
import { createLocks, type Locks } from 'holdfast'
import { migrateMysql, mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { migratePostgres, postgresSchema, postgresStore } from 'holdfast/postgres'
import type { Store } from 'holdfast/store'
import { mysqlTransactions, pgTransactions, postgresJsTransactions } from 'holdfast/transaction'
import { createPool } from 'mysql2/promise'
import { Client, Pool, type PoolClient } from 'pg'
import postgres from 'postgres'
import { afterAll, describe, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { after } from '../../../../test/support/after.js'

function locksOf(store: Store): Locks {
  const locks = createLocks(store)
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

/** Returns clients that were left inside of a transaction. */
async function leave(pool: Pool, count: number): Promise<PoolClient[]> {
  const clients = await Promise.all(Array.from({ length: count }, () => pool.connect()))
  for (const client of clients) await client.query('begin')
  for (const client of clients) client.release()
  return clients
}

/** Leaves connections inside of transactions that have run a statement. */
async function leaveReserved(
  sql: postgres.Sql,
  count: number,
  statement = 'insert into work values (1)',
): Promise<postgres.ReservedSql[]> {
  const reserved: postgres.ReservedSql[] = []
  for (let left = count; left > 0; left -= 1) {
    const one = await sql.reserve()
    await one.unsafe('begin')
    await one.unsafe(statement).then(undefined, () => undefined) // it is to fail
    reserved.push(one)
  }
  for (const one of reserved) one.release()
  return reserved
}

async function isRefused(handle: unknown): Promise<void> {
  const refusal = { code: 'LOCK_USAGE' }
  await expect(migratePostgres(handle as Pool)).rejects.toMatchObject(refusal)
  expect(() => postgresStore({ pool: handle as Pool })).toThrow(expect.objectContaining(refusal))
  expect(() => postgresJsTransactions(handle as postgres.Sql)).toThrow(
    expect.objectContaining(refusal),
  )
}

const work = async (tx: { unsafe(text: string): PromiseLike<unknown> }): Promise<unknown> =>
  tx.unsafe('select 1')

describe('PostgreSQL', async () => {
  const server = await startPostgres()
  server.psql(postgresSchema())
  server.psql('create table work (id integer)')
  afterAll(() => server.remove())

  function poolOf(max: number, library: typeof Client): Pool {
    const pool = new Pool({ connectionString: server.url, max, Client: library })
    pool.on('error', () => undefined)
    after(() => pool.end())
    return pool
  }

  const isFree = async (name: string): Promise<boolean> =>
    (await locksOf(postgresStore({ pool: poolOf(2, Client) }))
      .mutex(name)
      .tryAcquire()) !== undefined
  const rows = (): Promise<string> => server.ask('select count(*) from work')

  /** As before the library showed the status. */
  class EarlierClient extends Client {
    getTransactionStatus = undefined
  }

  test.each([1, 3])('pg, %i of them: a grant stands, and the program continues', async (count) => {
    const pool = poolOf(count, Client)
    const clients = await leave(pool, count)
    const name = `pg ${count}`
    const lease = await locksOf(postgresStore({ pool })).mutex(name).acquire({ waitMs: 5000 })
    for (const client of clients) {
      await client.query('insert into work values (1)')
      await client.query('rollback')
    }
    expect(await isFree(name)).toBe(false)
    expect(await lease.release()).toBe('released')
    expect(pool.totalCount).toBe(count)
    expect(await rows()).toBe('0')
  })

  test('an earlier pg: a grant stands', async () => {
    const pool = poolOf(2, EarlierClient)
    const [client] = await leave(pool, 2)
    const locks = locksOf(postgresStore({ pool }))
    for (const name of ['earlier', 'earlier again']) {
      await locks.mutex(name).acquire({ waitMs: 5000 })
      await client?.query('rollback').catch(() => undefined) // the connection was ended
      expect(await isFree(name)).toBe(false)
    }
  })

  test.each([Client, EarlierClient])(
    'pgTransactions commits nothing of the program (%o)',
    async (library) => {
      const pool = poolOf(3, library)
      const clients = await leave(pool, 2)
      for (const client of clients) await client.query('insert into work values (1)')
      const db = pgTransactions(pool)
      await db.transaction((tx) => tx.query('insert into work values (2)'))
      for (const client of clients) await client.query('rollback')
      expect(await server.ask('select string_agg(id::text, $$,$$) from work')).toBe('2')
      server.psql('delete from work')
      expect(pool.totalCount).toBe(3)
      expect(pool.idleCount).toBe(3)
    },
  )

  test('pgTransactions with all connections in transactions: LOCK_USAGE', async () => {
    const pool = poolOf(2, Client)
    const clients = await leave(pool, 2)
    for (const client of clients) await client.query('insert into work values (1)')
    const refused = pgTransactions(pool).transaction((tx) => tx.query('select 1'))
    await expect(refused).rejects.toMatchObject({ code: 'LOCK_USAGE' })
    for (const client of clients) await client.query('rollback')
    expect(await rows()).toBe('0')
  })

  /** Connects all of them: `reserve` would wait forever for a connection that is not open. */
  const connected = async (max: number): Promise<postgres.Sql> => {
    const sql = sqlOf(max)
    await Promise.all(Array.from({ length: max }, () => sql.unsafe('select 1')))
    return sql
  }

  const sqlOf = (max: number): postgres.Sql => {
    const sql = postgres(server.url, { max, fetch_types: false, onnotice: () => undefined })
    after(() => sql.end({ timeout: 1 }))
    return sql
  }

  test.each([2, 3, 4])('postgres, %i of them: a grant stands', async (max) => {
    const sql = await connected(max)
    const reserved = await leaveReserved(sql, max)
    const locks = locksOf(postgresStore({ pool: sql }))
    const name = `postgres ${max}`
    await locks.mutex(name).acquire({ waitMs: 5000 })
    await Promise.all(reserved.map(() => sql.unsafe('rollback').then(undefined, () => undefined)))
    expect(await isFree(name)).toBe(false)
    expect(await rows()).toBe('0')
  })

  test.each([
    ['in a transaction', 'insert into work values (1)'],
    ['in one that has only set something', 'set local lock_timeout = 7777'],
    ['in one that has failed', 'select 1/0'],
  ])('postgresJsTransactions, %s: commits nothing of the program', async (_state, statement) => {
    const sql = await connected(3)
    const db = postgresJsTransactions(sql)
    await leaveReserved(sql, 2, statement)
    for (let times = 0; times < 3; times += 1) {
      await db.transaction(async (tx) => {
        expect(await tx.unsafe('show lock_timeout')).toEqual([{ lock_timeout: '0' }])
        await tx.unsafe('insert into work values (2)')
      })
    }
    await sql.unsafe('rollback').then(undefined, () => undefined)
    expect(await server.ask('select string_agg(id::text, $$,$$) from work')).toBe('2,2,2')
    server.psql('delete from work')
  })

  test('postgresJsTransactions: a transaction begins without a snapshot', async () => {
    const db = postgresJsTransactions(sqlOf(2))
    const level = await db.transaction(async (tx) => {
      await tx.unsafe('set transaction isolation level serializable')
      return tx.unsafe('show transaction_isolation')
    })
    expect(level[0]).toEqual({ transaction_isolation: 'serializable' })
  })

  test.each([
    [
      'postgresJsTransactions',
      (sql: postgres.Sql) => postgresJsTransactions(sql).transaction(work),
    ],
    ['a migration', (sql: postgres.Sql) => migratePostgres(sql)],
  ])('%s with one postgres connection, in a transaction: LOCK_USAGE', async (_name, use) => {
    const sql = sqlOf(1)
    await sql.unsafe('begin')
    await expect(use(sql)).rejects.toMatchObject({ code: 'LOCK_USAGE' })
    await sql.unsafe('insert into work values (1)')
    await sql.unsafe('rollback')
    expect(await rows()).toBe('0')
    await use(sql)
  })

  test.each([
    ['pg', Client],
    ['an earlier pg', EarlierClient],
  ])('%s: a migration stands, and commits nothing of the program', async (name, library) => {
    const pool = poolOf(2, library)
    const clients = await leave(pool, 2)
    for (const client of clients) await client.query('insert into work values (1)')
    const schema = `moved_${name.length}`
    await migratePostgres(pool, schema)
    // The transaction has failed where the library does not show the status.
    for (const client of clients) await client.query('rollback').catch(() => undefined)
    expect(await server.ask(`select to_regclass('${schema}.holders') is not null`)).toBe('t')
    expect(await rows()).toBe('0')
    expect(
      await server.ask(`select count(*) from pg_stat_activity where pid <> pg_backend_pid()
      and query like '%${schema}%' and state <> 'idle'`),
    ).toBe('0')
  })

  test('postgres: a migration stands, and commits nothing of the program', async () => {
    const sql = await connected(2)
    await leaveReserved(sql, 2)
    await migratePostgres(sql, 'moved_postgres')
    await sql.unsafe('rollback').then(undefined, () => undefined)
    expect(await server.ask("select to_regclass('moved_postgres.holders') is not null")).toBe('t')
    expect(await rows()).toBe('0')
  })

  test('handles that may be in a transaction: LOCK_USAGE', async () => {
    const pool = poolOf(1, Client)
    const client = await pool.connect()
    const sql = await connected(2)
    const reserved = await sql.reserve()
    for (const handle of [client, new Client(), reserved]) await isRefused(handle)
    await sql.begin((tx) => isRefused(tx))
    client.release()
    reserved.release()
  })

  test('pg, without an answer in time: the borrowed connections return to the pool', async () => {
    const connecting: (() => void)[] = []
    class SilentClient extends Client {
      override connect(done?: unknown): Promise<never> {
        if (connecting.length === 0) return super.connect(done as never) as never
        connecting.push(() => (done as (error: Error) => void)(new Error('it ended')))
        return new Promise(() => undefined)
      }
    }
    const pool = poolOf(4, SilentClient)
    const clients = await leave(pool, 2)
    connecting.push(() => undefined)
    const locks = locksOf(postgresStore({ pool, requestTimeoutMs: 300 }))
    const refused = locks.inspect({ prefix: 'any' })
    await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(pool.idleCount).toBe(2)
    for (const client of clients) await client.query('rollback')
    for (const end of connecting) end()
  })

  test('postgres with one connection, in the transaction of the caller: STORE_CONFIG', async () => {
    const sql = sqlOf(1)
    await sql.unsafe('begin')
    const refused = locksOf(postgresStore({ pool: sql }))
      .mutex('only')
      .acquire({ waitMs: 5000 })
    await expect(refused).rejects.toMatchObject({ code: 'STORE_CONFIG' })
    await expect(sql.unsafe('insert into work values (1)')).rejects.toMatchObject({ code: '25P02' })
    await sql.unsafe('rollback')
  })
})

describe('MySQL', async () => {
  const server = await startMysql()
  server.sql(mysqlSchema())
  server.sql('create table work (id int) engine = InnoDB')
  afterAll(() => server.remove())

  const poolOf = (connectionLimit: number): ReturnType<typeof createPool> => {
    const pool = createPool({ uri: server.url, connectionLimit })
    after(() => pool.end())
    return pool
  }
  const rows = (): Promise<string> => server.ask('select count(*) from work')

  test.each(['start transaction', 'set autocommit = 0'])(
    '%s: nothing of the program is committed',
    async (begin) => {
      const pool = poolOf(2)
      for (const verb of ['tryAcquire', 'release', 'inspect'] as const) {
        const locks = locksOf(mysqlStore({ pool }))
        const lock = locks.mutex(`${begin} ${verb}`)
        const held = verb === 'release' ? await lock.acquire() : undefined
        const connection = await pool.getConnection()
        await connection.query(begin)
        await connection.query('insert into work values (1)')
        connection.release()
        if (verb === 'tryAcquire') expect((await lock.tryAcquire())?.held).toBe(true)
        if (verb === 'release') expect(await held?.release()).toBe('released')
        if (verb === 'inspect') expect((await locks.inspect({ prefix: 'none' })).locks).toEqual([])
        await connection.query('rollback').catch(() => undefined) // the connection was ended
        expect(await rows()).toBe('0')
      }
    },
  )

  test.each(['start transaction', 'set autocommit = 0'])(
    '%s: mysqlTransactions and migrations commit nothing of the program',
    async (begin) => {
      const pool = poolOf(2)
      const work = {
        transaction: () =>
          mysqlTransactions(pool).transaction((tx) => tx.query('insert into work values (2)')),
        migration: () => migrateMysql(pool),
      }
      for (const use of Object.values(work)) {
        const connection = await pool.getConnection()
        await connection.query(begin)
        await connection.query('insert into work values (1)')
        connection.release()
        await use()
        await connection.query('rollback').catch(() => undefined) // the connection was ended
      }
      expect(await server.ask('select group_concat(id) from work')).toBe('2')
      server.sql('delete from work')
    },
  )

  test('mysqlTransactions with the only connection in a transaction: LOCK_USAGE', async () => {
    const pool = poolOf(1)
    await pool.query('start transaction')
    await pool.query('insert into work values (1)')
    const refused = mysqlTransactions(pool).transaction((tx) => tx.query('do 0'))
    await expect(refused).rejects.toMatchObject({ code: 'LOCK_USAGE' })
    await pool.query('rollback')
    expect(await rows()).toBe('0')
  })

  test('the only connection, in the transaction of the caller: STORE_CONFIG', async () => {
    const pool = poolOf(1)
    await pool.query('start transaction')
    await pool.query('insert into work values (1)')
    const refused = locksOf(mysqlStore({ pool })).mutex('only').tryAcquire()
    await expect(refused).rejects.toMatchObject({ code: 'STORE_CONFIG' })
    await pool.query('commit')
    expect(await rows()).toBe('1')
    await pool.query('delete from work')
  })
})
