/** The rule in PL/pgSQL gives what the rule in plain functions gives. */
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import { Pool } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { startPostgres } from '@holdfast/servers/postgres'
import { contendForFreeLock } from './contenders.js'
import { comparePlay } from './differential.js'

const server = await startPostgres()
const pool = newPool()
const store = postgresStore({ pool, schema: 'played' })

afterAll(async () => {
  await store.close()
  await pool.end()
  await server.remove()
})

function newPool(): Pool {
  const made = new Pool({ connectionString: server.url, max: 1 })
  // The server may end before the last connection is quite closed.
  made.on('error', () => undefined)
  return made
}

/** The schema as it is, but for the clock and the dice. */
function clockedSchema(): string {
  const text = postgresSchema('played')
  const clocked = text
    .replace('v_now := clock_timestamp()', 'v_now := (select at from played.clock)')
    .replace('random() < 0.05', 'true')
  expect(clocked.length).toBeLessThan(text.length + 10)
  expect(clocked).not.toContain('random()')
  expect(clocked).not.toContain('clock_timestamp()')
  return `${clocked} create table played.clock (at timestamptz); insert into played.clock values (now());`
}

async function setClock(ms: number): Promise<void> {
  await pool.query('update played.clock set at = to_timestamp($1::numeric / 1000)', [ms])
}

test('the rule in SQL is the rule', async () => {
  server.psql(clockedSchema())
  for (let seed = 1; seed <= 30; seed += 1) await comparePlay({ store, setClock }, seed, 120)
}, 120_000)

test('sessions that ask at the same moment', async () => {
  server.psql(postgresSchema())
  const pools = Array.from({ length: 6 }, newPool)
  await contendForFreeLock(pools.map((pool) => postgresStore({ pool })))
  for (const pool of pools) await pool.end()
})
