/** The rule in PL/pgSQL gives what the rule in plain functions gives. */
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import { Pool } from 'pg'
import { afterAll, test } from 'vitest'
import { startPostgres } from '@holdfast/servers/postgres'
import { clockedPostgres } from './clocked.js'
import { contendForFreeLock } from './contenders.js'
import { comparePlays } from './differential.js'

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

test('the rule in SQL is the rule', async () => {
  const { sql, set } = clockedPostgres()
  server.psql(sql)
  const setClock = async (ms: number): Promise<void> => void (await pool.query(set, [ms]))
  for (let seed = 1; seed <= 30; seed += 1) await comparePlays({ store, setClock }, [seed], 120)
  // Several locks in one turn.
  for (let seed = 100; seed < 150; seed += 5) {
    await comparePlays({ store, setClock }, [seed, seed + 1, seed + 2, seed + 3, seed + 4], 120)
  }
}, 120_000)

test('sessions that ask at the same moment', async () => {
  server.psql(postgresSchema())
  const pools = Array.from({ length: 6 }, newPool)
  await contendForFreeLock(pools.map((pool) => postgresStore({ pool })))
  for (const pool of pools) await pool.end()
})
