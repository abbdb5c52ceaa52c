/**
 * A verb that makes no row, on a lock of PostgreSQL that has none. The row appears while the batch
 * waits, and its holder changes. The batch must not bring the earlier holder back.
 */
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import { Pool } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { startPostgres } from '@holdfast/servers/postgres'
import { claim } from './kits.js'

const server = await startPostgres()
const pool = new Pool({ connectionString: server.url, max: 4 })
pool.on('error', () => undefined)
afterAll(async () => {
  await pool.end()
  await server.remove()
})

/** The batch of a steal waits here for a lock that the test has. */
const GATE = 'perform pg_advisory_xact_lock_shared(1)'

const waiting = (kind: string) => (): boolean =>
  server.psql(`select count(*) from pg_stat_activity where wait_event = '${kind}'`) === '1'

test('a steal leaves the claims that came meanwhile', async () => {
  const schema = postgresSchema('gated').replace(
    'v_now := clock_timestamp();',
    `if a_requests::text like '%stealClaim%' then ${GATE}; end if; v_now := clock_timestamp();`,
  )
  expect(schema).toContain(GATE)
  server.psql(schema)
  const store = postgresStore({ pool, schema: 'gated', autoMigrate: false })
  const [one, next] = [claim('a', 'one', 30_000), claim('a', 'next', 30_000)]
  const other = await pool.connect()
  await other.query('select pg_advisory_lock(1)')
  const stolen = store.steal('a', { claim: 'unknown', now: true })
  await eventually('the steal waits at the gate', waiting('advisory'))
  const how = { enqueue: false, tokens: 1 }
  expect(await store.attempt(one, how)).toMatchObject({ outcome: 'granted' })
  await other.query('begin')
  const batch = async (...requests: object[]): Promise<unknown> =>
    other.query('select gated.apply_batch_v1($1::text::jsonb)', [JSON.stringify(requests)])
  await batch({ verb: 'withdraw', lock: 'a', id: 'one', ttlMs: 30_000 })
  await batch({ verb: 'attempt', ...next, ...how, owner: JSON.stringify(next.owner) })
  await other.query('select pg_advisory_unlock(1)')
  await eventually('the steal waits for the row', waiting('transactionid'))
  await other.query('commit')
  other.release()
  expect(await stolen).toMatchObject({ holders: 0 })
  const [info] = await store.inspect(['a'])
  expect(info?.holders.map(({ claimId }) => claimId)).toEqual(['next'])
  expect(await store.withdraw(next)).toBe('released')
  await store.close()
})
