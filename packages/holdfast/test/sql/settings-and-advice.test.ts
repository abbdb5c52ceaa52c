/** Settings of sessions, and errors that name what to do about them. */
import { createLocks, type Locks } from 'holdfast'
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { migratePostgres, postgresSchema, postgresStore } from 'holdfast/postgres'
import type { Store } from 'holdfast/store'
import { createPool, type Pool as MysqlPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { Proxy } from '@holdfast/servers/proxy'
import { after } from '../../../../test/support/after.js'

const [server, mysql] = await Promise.all([startPostgres(), startMysql()])
server.psql(postgresSchema())
server.psql('create user plain')
mysql.sql(mysqlSchema())
mysql.sql(
  "create database bare; create user plain@'%'; grant select, execute on bare.* to plain@'%'",
)
afterAll(() => Promise.all([server.remove(), mysql.remove()]))

function locksOf(store: Store): Locks {
  const locks = createLocks(store)
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

function poolOf(url: string, options = ''): Pool {
  const pool = new Pool({ connectionString: url, options })
  pool.on('error', () => undefined)
  after(() => pool.end())
  return pool
}

function mysqlPoolOf(uri: string, setting?: string): MysqlPool {
  const pool = createPool({ uri, connectionLimit: 3 })
  if (setting !== undefined) pool.pool.on('connection', (connection) => connection.query(setting))
  after(() => pool.end())
  return pool
}

test('autoMigrate without the right to create: the error names that right', async () => {
  const url = server.url.replace('postgres@', 'plain@')
  const store = postgresStore({ pool: poolOf(url), schema: 'other', autoMigrate: true })
  await expect(locksOf(store).mutex('a').tryAcquire()).rejects.toMatchObject({
    code: 'STORE_AUTH',
    message: expect.stringContaining('needs CREATE on the database'),
  })
  const bare = mysql.url.replace('root@', 'plain@').replace(/app$/, 'bare')
  const mysqlLocks = locksOf(mysqlStore({ pool: mysqlPoolOf(bare), autoMigrate: true }))
  await expect(mysqlLocks.mutex('a').tryAcquire()).rejects.toMatchObject({
    code: 'STORE_AUTH',
    message: expect.stringContaining('needs CREATE, CREATE ROUTINE'),
  })
})

test('routines that do not know a request: STORE_CONFIG, and the advice to migrate', async () => {
  const unknown = "when 'stealClaim' then"
  const older = "when 'earlier' then"
  const found = [
    [
      postgresSchema,
      (text: string) => server.psql(text),
      postgresStore({ pool: poolOf(server.url) }),
    ],
    [mysqlSchema, (text: string) => mysql.sql(text), mysqlStore({ pool: mysqlPoolOf(mysql.url) })],
  ] as const
  for (const [schema, change, store] of found) {
    const locks = locksOf(store)
    await (await locks.mutex('a').acquire()).release()
    const text = schema()
    expect(text).toContain(unknown)
    change(text.replaceAll(unknown, older))
    const refused = locks.steal('a', { claim: 'some-claim', reason: 'test' })
    await expect(refused).rejects.toMatchObject({
      code: 'STORE_CONFIG',
      message: expect.stringContaining('Run holdfast migrate --store URL') as string,
    })
    change(text)
  }
})

test('transactions that are read-only by default: the advice names the setting', async () => {
  const pool = poolOf(server.url, '-c default_transaction_read_only=on')
  await expect(locksOf(postgresStore({ pool })).mutex('a').tryAcquire()).rejects.toMatchObject({
    code: 'STORE_CONFIG',
    message: expect.stringContaining('default_transaction_read_only'),
  })
  const readOnly = mysqlPoolOf(mysql.url, 'set session transaction read only')
  const locks = locksOf(mysqlStore({ pool: readOnly }))
  await expect(locks.mutex('a').tryAcquire()).rejects.toMatchObject({
    code: 'STORE_CONFIG',
    message: expect.stringContaining('tx_read_only'),
  })
})

test('a session that refuses large joins: STORE_CONFIG', async () => {
  const setting = 'set session sql_big_selects = 0, max_join_size = 1'
  const locks = locksOf(mysqlStore({ pool: mysqlPoolOf(mysql.url, setting) }))
  const names = Array.from({ length: 8 }, (_, index) => `join ${index}`)
  const taken = Promise.all(names.map((name) => locks.mutex(name).tryAcquire()))
  await expect(taken).rejects.toMatchObject({
    code: 'STORE_CONFIG',
    message: expect.stringContaining('sql_big_selects'),
  })
})

test.skipIf(mysql.product === 'MySQL')(
  'a session for which no text is null lists locks',
  async () => {
    const setting = "set session sql_mode = 'EMPTY_STRING_IS_NULL'"
    const locks = locksOf(mysqlStore({ pool: mysqlPoolOf(mysql.url, setting) }))
    await locks.mutex('listed').acquire()
    expect((await locks.inspect({ prefix: '' })).locks.map(({ lock }) => lock)).toContain('listed')
  },
)

test('two clients of postgres that migrate send no notice to the console', async () => {
  const notices: unknown[] = []
  const migrations = [1, 2].map(async () => {
    const sql = postgres(server.url, { onnotice: (notice) => notices.push(notice) })
    await migratePostgres(sql)
    await sql.end({ timeout: 1 })
  })
  await Promise.all(migrations)
  expect(notices).toEqual([])
})

test('an attempt that postgres sends after its limit is granted to no client', async () => {
  const proxy = await Proxy.to(server.port)
  after(() => proxy.close())
  const sql = postgres(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`, {
    max: 1,
    backoff: () => 2,
    fetch_types: false,
  })
  after(() => sql.end({ timeout: 1 }))
  proxy.faults.refuse = true
  await expect(sql.unsafe('select 1')).rejects.toThrow()
  // Without a client of locks, whose withdrawals the library would keep and send as well.
  const store = postgresStore({ pool: sql, requestTimeoutMs: 200 })
  const shape = { kind: 'mutex', capacity: 1, weight: 1, ttlMs: 60_000, heartbeatMs: 1000 } as const
  const owner = { clientId: 'ghost', host: 'h', pid: 1 }
  const claim = { ...shape, lock: 'ghost', id: 'ghost-1', owner }
  await expect(store.attempt(claim, { enqueue: false, tokens: 1 })).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
  })
  await store.close()
  proxy.heal()
  // The library sends its queue in order.
  await sql.unsafe('select 1')
  expect(await server.ask("select count(*) from holdfast.locks where name = 'ghost'")).toBe('0')
})
