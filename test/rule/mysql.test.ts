/** The rule in stored procedures gives what the rule in plain functions gives. */
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { createPool } from 'mysql2/promise'
import { afterAll, test } from 'vitest'
import { startMariadb } from '@holdfast/servers/mariadb'
import { clockedMysql } from './clocked.js'
import { contendForFreeLock } from './contenders.js'
import { comparePlays } from './differential.js'

const server = await startMariadb()
const pool = createPool({ uri: server.url, connectionLimit: 1 })
const store = mysqlStore({ pool, prefix: 'played_' })

afterAll(async () => {
  await store.close()
  await pool.end()
  await server.remove()
})

test('the rule in SQL is the rule', async () => {
  const { sql, set } = clockedMysql()
  server.sql(sql)
  const setClock = async (ms: number): Promise<void> => void (await pool.execute(set, [ms]))
  for (let seed = 1; seed <= 30; seed += 1) await comparePlays({ store, setClock }, [seed], 120)
  // Several locks in one turn.
  for (let seed = 100; seed < 150; seed += 5) {
    await comparePlays({ store, setClock }, [seed, seed + 1, seed + 2, seed + 3, seed + 4], 120)
  }
}, 120_000)

test('sessions that ask at the same moment', async () => {
  server.sql(mysqlSchema())
  const pools = Array.from({ length: 6 }, () => createPool({ uri: server.url, connectionLimit: 1 }))
  await contendForFreeLock(pools.map((pool) => mysqlStore({ pool })))
  for (const pool of pools) await pool.end()
})
