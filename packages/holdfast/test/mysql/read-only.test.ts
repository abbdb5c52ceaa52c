/**
 * An operator sets the server read-only while a statement waits for a row. That waits for the
 * statement, and all writes wait behind it: docs/stores/mysql.md.
 */
import { createLocks } from 'holdfast'
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { createPool, type Pool } from 'mysql2/promise'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { after } from '../../../../test/support/after.js'

/** Of mysql.md. The user of these tests is `root`, whom a read-only server does not bind. */
const READ_ONLY = 'set global read_only = 1'
const WITHIN_A_SECOND = 'set session lock_wait_timeout = 1'
const WAITING_THREADS =
  "select trx_mysql_thread_id from information_schema.innodb_trx where trx_state = 'LOCK WAIT'"

const server = await startMysql()
beforeAll(() =>
  server.sql(`${mysqlSchema()}; create table stock (id int primary key, amount int);
    insert into stock values (9, 1)`),
)
afterEach(() => server.ask('set global read_only = 0'))
afterAll(() => server.remove())

function open(): Pool {
  const pool = createPool({ uri: server.url, connectionLimit: 4 })
  after(() => pool.end())
  return pool
}

/** Lets a statement wait for a row. Resolves when it waits, to its outcome. */
async function waitForRow(pool: Pool): Promise<{ outcome: Promise<string> }> {
  const [holder, waiter] = [await pool.getConnection(), await pool.getConnection()]
  after(() => [holder, waiter].map((connection) => connection.destroy()))
  await holder.query('start transaction')
  await holder.query('select * from stock where id = 9 for update')
  const outcome = waiter.query('update stock set amount = 0 where id = 9').then(
    () => 'updated',
    ({ code }: { code: string }) => code,
  )
  await expect.poll(() => server.ask(WAITING_THREADS)).toMatch(/\d/)
  return { outcome }
}

test('read_only waits for a row with all locks, until the statement is killed', async () => {
  const { outcome } = await waitForRow(open())
  const locks = createLocks(mysqlStore({ pool: open() }))
  after(() => locks.close({ graceMs: 0 }))
  await locks.mutex('order:42').tryAcquire()
  const isReadOnly = server.ask(READ_ONLY)
  const waiting =
    "select count(*) from information_schema.processlist where info like '%read_only%'"
  await expect.poll(() => server.ask(`${waiting} and state like 'Waiting for%'`)).toContain('1')
  const lock = locks.mutex('order:43')
  await expect(lock.acquire({ waitMs: 500 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
  await server.ask(`kill query ${await server.ask(`${WAITING_THREADS} limit 1`)}`)
  await isReadOnly
  expect(await outcome).toBe('ER_QUERY_INTERRUPTED')
  expect((await lock.acquire({ waitMs: 5000 })).held).toBe(true)
})

test('read_only with a limit gives up, and locks are granted again', async () => {
  await waitForRow(open())
  await expect(server.ask(`${WITHIN_A_SECOND}; ${READ_ONLY}`)).rejects.toThrow(/Lock wait timeout/)
  const locks = createLocks(mysqlStore({ pool: open() }))
  after(() => locks.close({ graceMs: 0 }))
  expect((await locks.mutex('order:44').acquire({ waitMs: 5000 })).held).toBe(true)
})
