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
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startMysql, type MysqlServer } from '@holdfast/servers/mysql'
import { startPostgres, type PostgresServer } from '@holdfast/servers/postgres'
import { after } from '../../../../test/support/after.js'
import { nextRenewal } from '../../../../test/support/renewals.js'

interface Endpoint {
  open(): Store
  /** Makes the server read-only, for all sessions. */
  demote(): Promise<unknown>
  /** Makes it take writes in sessions that are opened from now on. */
  move(): Promise<unknown>
}

function locksOf(endpoint: Endpoint): Locks {
  const locks = createLocks(endpoint.open(), { ttlMs: 9000 })
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

/** Resolves when the client has tried to renew since. */
async function renewalFails(lease: Lease): Promise<void> {
  await expect(lease.renew()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
}

async function survives(endpoint: Endpoint, name: string): Promise<void> {
  const [holder, waiter, caller] = [locksOf(endpoint), locksOf(endpoint), locksOf(endpoint)]
  await (await caller.mutex(`${name} before`).acquire()).release()
  const lease = await holder.mutex(name).acquire()
  const waiting = waiter.mutex(name).acquire({ waitMs: 20_000 })
  await expect.poll(async () => (await holder.mutex(name).inspect()).waiters.length).toBe(1)
  await endpoint.demote()
  await renewalFails(lease)
  await expect(locksOf(endpoint).mutex(name).tryAcquire()).rejects.toMatchObject({
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

  test.each(['pg', 'postgres'])('%s: leases and waits survive', async (library) => {
    await survives(
      {
        open() {
          if (library === 'postgres') {
            const sql = postgres(server.url, { max: 3, fetch_types: false })
            after(() => sql.end({ timeout: 1 }))
            return postgresStore({ pool: sql })
          }
          const pool = new Pool({ connectionString: server.url, max: 3 })
          pool.on('error', () => undefined)
          after(() => pool.end())
          return postgresStore({ pool })
        },
        demote: () => system('on'),
        move: () => alter('alter role postgres set default_transaction_read_only = off'),
      },
      library,
    )
    await alter('alter role postgres reset default_transaction_read_only')
    await system('off')
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

  test('mysql2: leases and waits survive', async () => {
    const right = server.product === 'MySQL' ? 'connection_admin' : 'read_only admin'
    await survives(
      {
        open() {
          const uri = server.url.replace('root@', 'plain:secret@')
          const pool = createPool({ uri, connectionLimit: 4 })
          after(() => pool.end())
          return mysqlStore({ pool })
        },
        demote: () => server.ask('set global read_only = 1'),
        // A right of this kind applies to sessions that are opened later.
        move: () => server.ask(`grant ${right} on *.* to plain@'%'`),
      },
      'mysql2',
    )
  })
})
