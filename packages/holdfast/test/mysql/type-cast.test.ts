/**
 * A pool with a function that reads columns. It has a file of its own. The library keeps the code
 * that reads columns for all pools of a process, so an earlier pool would hide a mistake.
 */
import { createLocks } from 'holdfast'
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { createPool } from 'mysql2/promise'
import { afterAll, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'

const server = await startMysql()
server.sql(mysqlSchema())
afterAll(() => server.remove())

test('locks get the columns as they are', async () => {
  const pool = createPool({ uri: server.url, connectionLimit: 2, typeCast: () => 'made' })
  const store = mysqlStore({ pool })
  const locks = createLocks(store)
  const lease = await locks.mutex('shapes').acquire()
  expect((await store.inspect(['shapes']))[0]?.holders[0]?.token).toBe(lease.token)
  expect(await locks.mutex('shapes').tryAcquire()).toBeUndefined()
  expect(await lease.release()).toBe('released')
  await locks.close()
  await pool.end()
})
