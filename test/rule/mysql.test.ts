/** The rule in stored procedures gives what the rule in plain functions gives. */
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { createPool } from 'mysql2/promise'
import { afterAll, describe, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { clockedMysql } from './clocked.js'
import { clockedMysqlStore } from '../../packages/holdfast/test/mysql/support/clocked-store.js'
import { contendForFreeLock } from './contenders.js'
import { restart } from './restart.js'
import { compareAbandoned, compareHistories, CROWDS, HISTORIES_LIMIT_MS } from './differential.js'

// What was committed outlives the process, so that it can be killed.
const server = await startMysql({ flags: ['--innodb-flush-log-at-trx-commit=2'] })
const pool = createPool({ uri: server.url, connectionLimit: 1 })
const { store, setClock } = clockedMysqlStore(pool)

afterAll(async () => {
  await store.close()
  await pool.end()
  await server.remove()
})

describe('the rule in SQL is the rule', () => {
  const purge = (): string => server.sql('call played_purge_locks_v1(1, 10000)')
  const clocked = {
    store,
    setClock,
    purge,
    restart: () => restart(server.service, () => pool.query('select 1')),
  }
  server.sql(clockedMysql())

  test.each(CROWDS)(
    '$claims claims, looked at in one of $looks steps',
    (crowd) => compareHistories(clocked, crowd),
    HISTORIES_LIMIT_MS,
  )

  test.each(CROWDS)(
    '$claims claims, all of which die now and then, and a server that restarts',
    (crowd) => compareAbandoned(clocked, crowd),
  )
})

test('sessions that ask at the same moment', async () => {
  server.sql(mysqlSchema())
  const pools = Array.from({ length: 6 }, () => createPool({ uri: server.url, connectionLimit: 1 }))
  await contendForFreeLock(pools.map((pool) => mysqlStore({ pool })))
  for (const pool of pools) await pool.end()
})
