/** The rule in stored procedures gives what the rule in plain functions gives. */
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { createPool } from 'mysql2/promise'
import { afterAll, describe, test } from 'vitest'
import { startMariadb } from '@holdfast/servers/mariadb'
import { clockedMysql } from './clocked.js'
import { contendForFreeLock } from './contenders.js'
import { compareHistories, CROWDS } from './differential.js'

const server = await startMariadb()
const pool = createPool({ uri: server.url, connectionLimit: 1 })
const store = mysqlStore({ pool, prefix: 'played_' })

afterAll(async () => {
  await store.close()
  await pool.end()
  await server.remove()
})

describe('the rule in SQL is the rule', () => {
  const { sql, set } = clockedMysql()
  const setClock = async (ms: number): Promise<void> => void (await pool.execute(set, [ms]))
  server.sql(sql)

  test.each(CROWDS)(
    '$claims claims, looked at in one of $looks steps',
    (crowd) => compareHistories({ store, setClock }, crowd),
    120_000,
  )
})

test('sessions that ask at the same moment', async () => {
  server.sql(mysqlSchema())
  const pools = Array.from({ length: 6 }, () => createPool({ uri: server.url, connectionLimit: 1 }))
  await contendForFreeLock(pools.map((pool) => mysqlStore({ pool })))
  for (const pool of pools) await pool.end()
})
