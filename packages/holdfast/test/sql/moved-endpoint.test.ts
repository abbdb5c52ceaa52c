/**
 * An endpoint that leads to another server, while the earlier one lives on and takes no writes. One
 * server plays both: sessions that exist are read-only, and those that are opened later are not.
 */
import { createLocks, type Lease, type Locks } from 'holdfast'
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import type { Store } from 'holdfast/store'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startMysql, type MysqlServer } from '@holdfast/servers/mysql'
import { startPostgres, type PostgresServer } from '@holdfast/servers/postgres'
import { after } from '../../../../test/support/after.js'
import { nextRenewal } from '../../../../test/support/renewals.js'

interface Endpoint {
  /** Opens a store whose pool has three connections. */
  open(options?: { readonly autoMigrate: true; readonly schema: string }): Promise<Store>
  /** Makes the server read-only, for all sessions. */
  demote(): Promise<unknown>
  /** Makes it take writes in sessions that are opened from now on. */
  move(): Promise<unknown>
}

async function locksOf(endpoint: Endpoint): Promise<Locks> {
  const locks = createLocks(await endpoint.open(), { ttlMs: 9000 })
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

/** Resolves when the client has tried to renew since. */
async function renewalFails(lease: Lease): Promise<void> {
  await expect(lease.renew()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
}

async function survives(endpoint: Endpoint, name: string): Promise<void> {
  const [holder, waiter, caller] = [
    await locksOf(endpoint),
    await locksOf(endpoint),
    await locksOf(endpoint),
  ]
  await (await caller.mutex(`${name} before`).acquire()).release()
  const lease = await holder.mutex(name).acquire()
  const waiting = waiter.mutex(name).acquire({ waitMs: 20_000 })
  await expect.poll(async () => (await holder.mutex(name).inspect()).waiters.length).toBe(1)
  await endpoint.demote()
  await renewalFails(lease)
  await expect((await locksOf(endpoint)).mutex(name).tryAcquire()).rejects.toMatchObject({
    code: 'STORE_CONFIG',
  })
  await expect(caller.mutex(`${name} during`).tryAcquire()).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
  })
  await endpoint.move()
  await nextRenewal(name)
  expect(lease.held).toBe(true)
  expect(await (await caller.mutex(`${name} after`).acquire({ waitMs: 5000 })).release()).toBe(
    'released',
  )
  // The waiter's client has to hear on its new connection.
  await expect.poll(() => lease.renew().then(() => 'renewed')).toBe('renewed')
  expect(await lease.release()).toBe('released')
  expect((await waiting).held).toBe(true)
  expect(await (await waiting).release()).toBe('released')
}

/** A program that begins while the endpoint leads to the earlier server. */
async function begins(endpoint: Endpoint, name: string): Promise<void> {
  await endpoint.demote()
  const locks = await locksOf(endpoint)
  for (let times = 0; times < 2; times += 1) {
    const refused = locks.mutex(name).acquire({ waitMs: 60_000 })
    await expect(refused).rejects.toMatchObject({ code: 'STORE_CONFIG' })
  }
  await endpoint.move()
  const lease = await locks.mutex(name).acquire({ waitMs: 5000 })
  expect(await lease.release()).toBe('released')
}

/** As `begins`, where the tables are missing. Each call leaves connections. */
async function migrates(endpoint: Endpoint, schema: string): Promise<void> {
  await endpoint.demote()
  const locks = createLocks(await endpoint.open({ autoMigrate: true, schema }))
  after(() => locks.close({ graceMs: 0 }))
  const tried = (): Promise<unknown> =>
    locks
      .mutex('first')
      .acquire()
      .then(
        (lease) => lease.release(),
        (error: { code: unknown }) => error.code,
      )
  expect(await tried()).toBe('STORE_CONFIG')
  await endpoint.move()
  await expect.poll(tried, { timeout: 5000 }).toBe('released')
}

describe('PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
    server.psql(postgresSchema())
  })
  afterAll(() => server.remove())
  const alter = (what: string): Promise<string> => server.ask(`set transaction read write; ${what}`)
  // ALTER SYSTEM refuses to share a transaction.
  const system = (value: string): Promise<unknown> =>
    server
      .ask(`alter system set default_transaction_read_only = ${value}`)
      .then(() => server.ask('select pg_reload_conf()'))
      .then(() =>
        expect
          .poll(() => server.ask('show default_transaction_read_only'), { timeout: 5000 })
          .toBe(value),
      )

  const endpointOf = (library: 'pg' | 'postgres'): Endpoint => ({
    async open(options) {
      if (library === 'postgres') {
        const sql = postgres(server.url, { max: 3, fetch_types: false })
        after(() => sql.end({ timeout: 1 }))
        await Promise.all([1, 2, 3].map(() => sql.unsafe('select 1')))
        return postgresStore({ pool: sql, ...options })
      }
      const pool = new Pool({ connectionString: server.url, max: 3 })
      pool.on('error', () => undefined)
      after(() => pool.end())
      await Promise.all([1, 2, 3].map(() => pool.query('select 1')))
      return postgresStore({ pool, ...options })
    },
    demote: () => system('on'),
    move: () => alter('alter role postgres set default_transaction_read_only = off'),
  })

  afterEach(async () => {
    await alter('alter role postgres reset default_transaction_read_only')
    await system('off')
  })

  describe.each(['pg', 'postgres'] as const)('%s', (library) => {
    test('leases and waits survive', () => survives(endpointOf(library), library))
    test('a program that begins meanwhile recovers', () => begins(endpointOf(library), library))
    test('a program that migrates meanwhile recovers', () =>
      migrates(endpointOf(library), `migrated_${library}`))
  })
})

describe('MySQL', () => {
  let server: MysqlServer
  beforeAll(async () => {
    server = await startMysql()
    server.sql(mysqlSchema())
    server.sql(
      "create user plain@'%' identified by 'secret'; grant all privileges on app.* to plain@'%'",
    )
  })
  afterAll(() => server.remove())

  const right = (): string => (server.product === 'MySQL' ? 'connection_admin' : 'read_only admin')
  const endpoint: Endpoint = {
    async open(options) {
      const uri = server.url.replace('root@', 'plain:secret@')
      const pool = createPool({ uri, connectionLimit: 4 })
      after(() => pool.end())
      await Promise.all([1, 2, 3].map(() => pool.query('do 0')))
      const { schema, ...rest } = options ?? {}
      return mysqlStore({ pool, prefix: schema && `${schema}_`, ...rest })
    },
    demote: () => server.ask('set global read_only = 1'),
    // A right of this kind applies to sessions that are opened later.
    move: () => server.ask(`grant ${right()} on *.* to plain@'%'`),
  }

  afterEach(async () => {
    await server.ask('set global read_only = 0')
    await server.ask(`revoke ${right()} on *.* from plain@'%'`)
  })

  test('leases and waits survive', () => survives(endpoint, 'mysql2'))
  test('a program that begins meanwhile recovers', () => begins(endpoint, 'mysql2'))
  test('a program that migrates meanwhile recovers', () => migrates(endpoint, 'migrated'))
})
