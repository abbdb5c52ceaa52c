/** What MariaDB can refuse: each refusal says what to do, and nothing hangs. */
import { inspectPage } from 'holdfast/internal'
import { createLocks, type LockError, type Store } from 'holdfast'
import { mysqlSchema, mysqlStore, mysqlTransactions, type MysqlStoreOptions } from 'holdfast/mysql'
import { assertFence } from 'holdfast/fence'
import { lockRow } from 'holdfast/transaction'
import { createConnection, createPool as createCallbackPool } from 'mysql2'
import { createPool, type Pool, type PoolOptions } from 'mysql2/promise'
import { afterAll, describe, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { expectKept, expectOneSchema, failureOf } from '../sql/refusals.js'
import { after } from '../../../../test/support/after.js'

const server = await startMysql()
server.sql(mysqlSchema())
afterAll(() => server.remove())

function poolOf(options: PoolOptions = {}): Pool {
  const pool = createPool({ uri: server.url, connectionLimit: 2, ...options })
  after(() => pool.end())
  return pool
}

const failure = (options: MysqlStoreOptions): Promise<LockError> => failureOf(mysqlStore(options))

describe('a connection that cannot be made', () => {
  test('for a wrong password', async () => {
    const pool = poolOf({ uri: `mysql://root:wrong@127.0.0.1:${server.port}/app` })
    await expect(failure({ pool })).resolves.toMatchObject({ code: 'STORE_AUTH' })
  })

  test('for a database that is not there, or not named', async () => {
    const pool = poolOf({ uri: `${server.url}_missing` })
    await expect(failure({ pool })).resolves.toMatchObject({ code: 'STORE_CONFIG' })
    const nowhere = poolOf({ uri: `mysql://root@127.0.0.1:${server.port}` })
    await expect(failure({ pool: nowhere })).resolves.toMatchObject({ code: 'STORE_CONFIG' })
  })

  test('for a server that is not there', async () => {
    const pool = poolOf({ uri: 'mysql://root@127.0.0.1:1/app' })
    const error = await failure({ pool })
    expect(error.code).toBe('STORE_UNAVAILABLE')
    expect(error.message).toContain('can be reached')
  })
})

test('a fence in a database without its table says how to make it', async () => {
  const locks = createLocks(mysqlStore({ pool: poolOf() }))
  after(() => locks.close({ graceMs: 0 }))
  const lease = await locks.mutex('fenced').acquire()
  const fenced = mysqlTransactions(poolOf()).transaction((tx) =>
    assertFence(tx, lease, 'resource', { prefix: 'missing_' }),
  )
  await expect(fenced).rejects.toMatchObject({
    code: 'STORE_CONFIG',
    message: expect.stringContaining('holdfast migrate') as unknown,
  })
})

describe('a database that is not ready', () => {
  test('without tables and procedures', async () => {
    const error = await failure({ pool: poolOf(), prefix: 'nowhere_' })
    expect(error.code).toBe('STORE_CONFIG')
    expect(error.message).toContain('mysqlSchema()')
    expect(server.sql(`show tables like 'nowhere%'`)).toBe('')
  })

  test('makes them when asked to, also for several clients at once', async () => {
    await expectOneSchema(() => mysqlStore({ pool: poolOf(), prefix: 'made_', autoMigrate: true }))
  })

  const modes =
    server.product === 'MySQL'
      ? [['ansi', 'ANSI']]
      : [
          ['oracle', 'ORACLE'],
          ['empty', 'EMPTY_STRING_IS_NULL'],
        ]
  test.each([...modes, ['lax', '']] as [string, string][])(
    'makes them as they should be in a mode that reads SQL otherwise: %s',
    async (name, mode) => {
      const before = server.sql('select @@global.sql_mode')
      server.sql(`set global sql_mode = '${mode}'`)
      after(async () => void server.sql(`set global sql_mode = '${before}'`))
      const [asked, script] = [`${name}_asked_`, `${name}_script_`]
      expect(server.sql(`${mysqlSchema(script)}\nselect @@sql_mode = @@global.sql_mode;`)).toBe('1')
      for (const prefix of [asked, script]) {
        const store = (): Store =>
          mysqlStore({ pool: poolOf(), prefix, autoMigrate: prefix === asked })
        const [one, other] = [createLocks(store()), createLocks(store())]
        const lease = await one.mutex('mode').acquire()
        const waiting = other.mutex('mode').acquire({ waitMs: 5000 })
        const waiters = (): string => server.sql(`select count(*) from ${prefix}waiters`)
        await expect.poll(waiters, { timeout: 5000 }).toBe('1')
        expect(await lease.release()).toBe('released')
        expect(await (await waiting).release()).toBe('released')
        for (const locks of [one, other]) await locks.close()
      }
    },
  )

  test('the schema may be made again while it is in use', async () => {
    await expectKept(mysqlStore({ pool: poolOf() }), () => server.sql(mysqlSchema()))
  })

  test('with a table of another program under its name', async () => {
    server.sql(mysqlSchema('changed_'))
    server.sql('alter table changed_locks rename column guarded to watched')
    const error = await failure({ pool: poolOf(), prefix: 'changed_' })
    expect(error.code).toBe('STORE_CONFIG')
    expect(error.message).toContain('changed_')
  })

  test('with too few rights', async () => {
    server.sql('create user poor; grant select on app.* to poor')
    const error = await failure({
      pool: poolOf({ uri: `mysql://poor@127.0.0.1:${server.port}/app` }),
    })
    expect(error.code).toBe('STORE_AUTH')
    expect(error.message).toContain('EXECUTE')
  })

  test('that takes no writes', async () => {
    server.sql('create user reader; grant all on app.* to reader; set global read_only = on')
    try {
      const error = await failure({
        pool: poolOf({ uri: `mysql://reader@127.0.0.1:${server.port}/app` }),
      })
      expect(error.code).toBe('STORE_CONFIG')
      expect(error.message).toContain('primary')
    } finally {
      server.sql('set global read_only = off')
    }
  })
})

/** Rows that are not objects of values. */
const SHAPES: [string, PoolOptions][] = [
  ['lists', { rowsAsArray: true }],
  ['nested tables', { nestTables: true }],
  ['names with those of tables', { nestTables: '_' }],
  ['bytes', { typeCast: false }],
]

describe('options', () => {
  test.each([{}, { pool: {} }, { pool: null }, { pool: 'mysql://localhost' }])(
    'without a pool: %j',
    (options) => {
      expect(() => mysqlStore(options as never)).toThrow('needs a pool')
    },
  )

  test('with a single connection', async () => {
    const plain = createConnection({ uri: server.url })
    after(() => plain.promise().end())
    for (const connection of [plain, plain.promise()]) {
      expect(() => mysqlStore({ pool: connection as never })).toThrow('not a connection')
    }
  })

  test.each(['', 'a b', 'a`b', 'x'.repeat(41), 7, 'Capital_', 'capitaL_'])(
    'with the prefix %j',
    (prefix) => {
      expect(() => mysqlStore({ pool: poolOf(), prefix: prefix as string })).toThrow('prefix')
      expect(() => mysqlSchema(prefix as string)).toThrow('prefix')
    },
  )

  test.each([0, -1, NaN, Infinity, 2 ** 31, '200', 200n, true, [300], null])(
    'with a time limit of %s',
    (limit) => {
      const requestTimeoutMs = limit as number
      expect(() => mysqlStore({ pool: poolOf(), requestTimeoutMs })).toThrow('requestTimeoutMs')
    },
  )

  test.each(SHAPES)('a pool that gives %s will do', async (_what, config) => {
    const store = mysqlStore({ pool: poolOf(config) })
    const locks = createLocks(store)
    const lease = await locks.mutex('shapes').acquire()
    expect((await store.inspect(['shapes']))[0]?.holders[0]?.token).toBe(lease.token)
    expect(await locks.mutex('shapes').tryAcquire()).toBeUndefined()
    expect(await lease.release()).toBe('released')
    await locks.close()
  })

  test.each(SHAPES)('so will a pool that gives %s for transactions', async (_what, config) => {
    server.sql(
      'create table if not exists shapes (id int primary key); replace into shapes values (9)',
    )
    const shape = { table: 'shapes', key: { id: 9 } }
    const db = mysqlTransactions(poolOf(config))
    expect(await db.transaction((tx) => lockRow(tx, shape))).toEqual({ id: 9 })
  })

  test('a pool with callbacks will do', async () => {
    const pool = createCallbackPool({ uri: server.url })
    after(() => pool.promise().end())
    const locks = createLocks(mysqlStore({ pool }))
    expect(await locks.mutex('callbacks').run(() => 7)).toBe(7)
    await locks.close()
  })
})

test.each([
  '',
  'ANSI_QUOTES',
  'NO_BACKSLASH_ESCAPES',
  'ANSI',
  'TRADITIONAL',
  'PAD_CHAR_TO_FULL_LENGTH',
])('names, labels and reasons are kept in the mode "%s"', async (mode) => {
  server.sql(`set global sql_mode = '${mode}'`)
  const label = `null \u0000, half \ud800, "quotes" 'and' \\ 🔒`
  const store = mysqlStore({ pool: poolOf({ rowsAsArray: true, timezone: '+09:00' }) })
  const locks = createLocks(store, { label })
  const name = `"it's" \\' -- 🔒${mode}`
  const lease = await locks.mutex(name).acquire()
  await locks.steal(name, { reason: `'"\\ 🔒` })
  const [info] = (await inspectPage(store, { prefix: '"it', limit: 10 })).locks
  expect(info?.lock).toBe(name)
  expect(info?.holders[0]).toMatchObject({
    owner: { label },
    stolen: true,
    stealReason: `'"\\ 🔒`,
  })
  await lease.release()
  await locks.close()
})

describe('transactions', () => {
  test('a connection on which none has begun is no transaction', async () => {
    server.sql(
      'create table seats (id int primary key) engine=InnoDB; insert into seats values (1)',
    )
    const pool = poolOf()
    const seat = { table: 'seats', key: { id: 1 } }
    const connection = await pool.getConnection()
    const outcome: unknown = await lockRow(connection, seat).catch((error: unknown) => error)
    expect(outcome).toMatchObject({ code: 'LOCK_USAGE' })
    const locks = createLocks(mysqlStore({ pool }))
    after(() => locks.close())
    const lease = await locks.mutex('fenced').acquire()
    await expect(assertFence(connection, lease, 'resource')).rejects.toMatchObject({
      code: 'LOCK_USAGE',
    })
    await connection.query('start transaction')
    expect(await lockRow(connection, seat)).toMatchObject({ id: 1 })
    await connection.query('rollback')
    // Without autocommit each statement begins one.
    await connection.query('set autocommit = 0')
    expect(await lockRow(connection, seat)).toMatchObject({ id: 1 })
    await connection.query('rollback')
    connection.destroy()
  })

  test('a pool that takes callbacks will do', async () => {
    const pool = createCallbackPool({ uri: server.url, connectionLimit: 1 })
    after(() => pool.promise().end())
    const db = mysqlTransactions(pool as never)
    const asked = await db.transaction((tx) => db.query(tx, 'select 1 as one', []))
    expect(asked).toEqual([{ one: 1 }])
  })
})
