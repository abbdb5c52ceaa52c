/**
 * A statement of the store that the database chose as the victim of a deadlock is sent again, and
 * its caller does not notice.
 */
import { createLocks } from 'holdfast'
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import type { Store } from 'holdfast/store'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'

// PostgreSQL looks for a cycle once, so long after a wait began: by then the other has closed it.
const postgres = await startPostgres({ settings: { deadlock_timeout: '3s' } })
const mysql = await startMysql()
postgres.psql(postgresSchema())
mysql.sql(mysqlSchema())

const pgPool = new Pool({ connectionString: postgres.url, max: 4 })
pgPool.on('error', () => undefined)
const mysqlPool = createPool({ uri: mysql.url, connectionLimit: 4 })

afterAll(async () => {
  await Promise.all([pgPool.end(), mysqlPool.end()])
  await Promise.all([postgres.remove(), mysql.remove()])
})

interface Rival {
  query(sql: string): Promise<unknown>
  release(): void
}

interface Kit {
  readonly name: string
  readonly store: () => Store
  readonly rival: () => Promise<Rival>
  /** What makes the rival survive. */
  readonly favour: readonly string[]
  /**
   * What the rival has that the store needs once it has the first row, and then what the store has.
   */
  readonly first: string
  readonly second: string
  readonly waiting: () => Promise<number>
  readonly deadlocks: () => number
}

const KITS: Kit[] = [
  {
    name: 'postgres',
    store: () => postgresStore({ pool: pgPool, requestTimeoutMs: 15_000 }),
    rival: () => pgPool.connect(),
    favour: [`set local deadlock_timeout = '1h'`],
    first: `select name from holdfast.locks where name = 'row 2' for update`,
    second: `select name from holdfast.locks where name = 'row 1' for update`,
    async waiting() {
      const waits = `select 1 from pg_stat_activity where wait_event_type = 'Lock'`
      return (await pgPool.query(waits)).rows.length
    },
    deadlocks: () => Number(postgres.psql('select sum(deadlocks) from pg_stat_database')),
  },
  {
    name: 'mysql',
    store: () => mysqlStore({ pool: mysqlPool, requestTimeoutMs: 15_000 }),
    rival: () => mysqlPool.getConnection(),
    // The one that has changed less is undone.
    favour: [
      'create temporary table heavy (n int)',
      `insert into heavy values ${'(1), '.repeat(499)}(1)`,
    ],
    first: `select name from holdfast_locks where name = 'row 2' for update`,
    second: `select name from holdfast_locks where name = 'row 1' for update`,
    async waiting() {
      const waits = `select 1 from information_schema.innodb_trx where trx_state = 'LOCK WAIT'`
      return ((await mysqlPool.query(waits))[0] as unknown[]).length
    },
    // MySQL has no status variable for it, unlike MariaDB.
    deadlocks: () =>
      Number(
        mysql.sql(
          `select count from information_schema.innodb_metrics where name = 'lock_deadlocks'`,
        ),
      ),
  },
]

test.each(KITS)('$name', async ({ store, rival, favour, first, second, waiting, deadlocks }) => {
  const locks = createLocks(store())
  // On MariaDB two that were free the last time would be two statements.
  const all = ['row 1', 'row 2', 'row 3'].map((name) => locks.mutex(name))
  for (const lock of all) await (await lock.acquire()).release()
  const before = deadlocks()
  expect(before).toBeGreaterThanOrEqual(0)
  const other = await rival()
  await other.query('begin')
  for (const sql of favour) await other.query(sql)
  await other.query(first)
  // In one statement, which has the row of the first lock when it comes to wait.
  const leases = Promise.all(all.map((lock) => lock.tryAcquire()))
  // MariaDB renews its list of transactions only when no session has read it for 100 ms.
  await expect.poll(waiting, { timeout: 2500, interval: 200 }).toBe(1)
  await other.query(second)
  await other.query('rollback')
  other.release()
  expect((await leases).map((lease) => lease?.held)).toEqual([true, true, true])
  // Two if the repeated statement took the first row before the rival woke.
  await expect.poll(deadlocks, { timeout: 5000 }).toBeGreaterThan(before)
  await locks.close()
})
