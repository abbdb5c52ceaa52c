/**
 * Users with a password, of the kind that the server gives to new users, and with no more rights
 * than the errors name.
 */
import { createLocks } from 'holdfast'
import { diagnose } from '../../dist/stores/mysql/diagnose.js'
import { migrateMysql, mysqlStore } from 'holdfast/mysql'
import { createPool, type Pool, type PoolOptions } from 'mysql2/promise'
import { afterAll, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { after } from '../../../../test/support/after.js'

const server = await startMysql()
afterAll(() => server.remove())

server.sql(`create user maker@'%' identified by 'made'; create user locker@'%' identified by 'locked';
  grant create, create routine, select, insert on app.* to maker@'%';
  grant select, insert, update, delete, execute on app.* to locker@'%'`)

function poolOf(user: string, password: string, options: PoolOptions): Pool {
  const pool = createPool({ uri: server.url, user, password, connectionLimit: 3, ...options })
  after(() => pool.end())
  return pool
}

test.each<readonly [string, PoolOptions]>([
  ['over TCP', {}],
  // MySQL makes itself a certificate, and MariaDB does so from 11.4 on.
  ...(server.product === 'MySQL'
    ? [['over TLS', { ssl: { rejectUnauthorized: false } }] as const]
    : []),
])('one makes the tables, and another locks, waits and is woken: %s', async (_how, options) => {
  await migrateMysql(poolOf('maker', 'made', options))
  const locker = (): Pool => poolOf('locker', 'locked', options)
  expect(await diagnose({ pool: locker() })).toMatchObject({ missing: [], denied: [] })
  const [holder, waiter] = [locker(), locker()].map((pool) => createLocks(mysqlStore({ pool })))
  if (!holder || !waiter) throw new Error('There are two.')
  const lease = await holder.mutex('shared').acquire()
  const waiting = waiter.mutex('shared').acquire({ waitMs: 5000 })
  const asleep = `select count(*) from information_schema.processlist where user = 'locker' and info like 'select sleep%'`
  await expect.poll(() => server.sql(asleep), { timeout: 5000 }).toBe('1')
  await lease.release()
  expect(await (await waiting).release()).toBe('released')
  for (const locks of [holder, waiter]) await locks.close()
})
