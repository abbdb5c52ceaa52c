/** The rule in stored procedures gives what the rule in plain functions gives. */
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { createPool } from 'mysql2/promise'
import { afterAll, expect, test } from 'vitest'
import { startMariadb } from '@holdfast/servers/mariadb'
import { contendForFreeLock } from './contenders.js'
import { comparePlay } from './differential.js'

const server = await startMariadb()
const pool = createPool({ uri: server.url, connectionLimit: 1 })
const store = mysqlStore({ pool, prefix: 'played_' })

afterAll(async () => {
  await store.close()
  await pool.end()
  await server.remove()
})

/** The schema as it is, but for the clock and the dice. */
function clockedSchema(): string {
  const clocked = mysqlSchema('played_')
    .replace(/set v_now = timestampdiff.*;/, 'select at_us into v_now from played_clock;')
    .replace('rand() < 0.05', 'true')
  expect(clocked).toContain('played_clock')
  expect(clocked).not.toContain('rand()')
  expect(clocked).not.toContain('utc_timestamp')
  return `${clocked}create table played_clock (at_us bigint);\ninsert into played_clock values (0);\n`
}

async function setClock(ms: number): Promise<void> {
  await pool.execute('update played_clock set at_us = ? * 1000', [ms])
}

test('the rule in SQL is the rule', async () => {
  server.sql(clockedSchema())
  for (let seed = 1; seed <= 30; seed += 1) await comparePlay({ store, setClock }, seed, 120)
}, 120_000)

test('sessions that ask at the same moment', async () => {
  server.sql(mysqlSchema())
  const pools = Array.from({ length: 6 }, () => createPool({ uri: server.url, connectionLimit: 1 }))
  await contendForFreeLock(pools.map((pool) => mysqlStore({ pool })))
  for (const pool of pools) await pool.end()
})
