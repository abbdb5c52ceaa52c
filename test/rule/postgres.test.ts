/** The rule in PL/pgSQL gives what the rule in plain functions gives. */
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import { Pool } from 'pg'
import { afterAll, describe, test } from 'vitest'
import { startPostgres } from '@holdfast/servers/postgres'
import { clockedPostgres } from './clocked.js'
import { contendForFreeLock } from './contenders.js'
import { restart } from './restart.js'
import { compareAbandoned, compareHistories, CROWDS, HISTORIES_LIMIT_MS } from './differential.js'

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

describe('the rule in SQL is the rule', () => {
  const { sql, set } = clockedPostgres()
  const setClock = async (ms: number): Promise<void> => void (await pool.query(set, [ms]))
  const purge = (): string => server.psql(`select played.purge_locks_v1('1 day')`)
  const clocked = {
    store,
    setClock,
    purge,
    async restart() {
      // Places in the queue and refusals are not waited for on the disk, and a crash may lose them.
      server.psql('checkpoint')
      await restart(server.service, () => pool.query('select 1'))
    },
  }
  server.psql(sql)

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
  server.psql(postgresSchema())
  const pools = Array.from({ length: 6 }, newPool)
  await contendForFreeLock(pools.map((pool) => postgresStore({ pool })))
  for (const pool of pools) await pool.end()
})
