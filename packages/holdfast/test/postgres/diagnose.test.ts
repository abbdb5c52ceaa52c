/** What `diagnose` finds, and that it releases the connections of the pool. */
import { diagnose } from '../../dist/stores/postgres/diagnose.js'
import { postgresSchema } from 'holdfast/postgres'
import { Pool, type PoolConfig } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { startPgbouncer } from '@holdfast/servers/pgbouncer'
import { startPostgres } from '@holdfast/servers/postgres'
import { after } from '../../../../test/support/after.js'

const server = await startPostgres()
server.psql(postgresSchema())
afterAll(() => server.remove())

/** That it ends at the end of a test shows that nothing was kept of it. */
function poolOf(config: PoolConfig = {}): Pool {
  const pool = new Pool({ connectionString: server.url, max: 4, ...config })
  pool.on('error', () => undefined)
  after(() => pool.end())
  return pool
}

test('a pool of one connection is refused at once', async () => {
  await expect(diagnose({ pool: poolOf({ max: 1 }) })).rejects.toMatchObject({
    code: 'STORE_CONFIG',
  })
})

test('a second connection that is refused: the first one goes back', async () => {
  server.psql('create role limited login connection limit 1')
  const pool = poolOf({ connectionString: server.url.replace('//postgres@', '//limited@') })
  await expect(diagnose({ pool })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(pool.totalCount - pool.idleCount).toBe(0)
})

test('a pooler in transaction mode is found out, also with one connection to share', async () => {
  const pooler = await startPgbouncer(server.port, 'transaction', 1)
  after(() => pooler.remove())
  expect(await diagnose({ pool: poolOf({ connectionString: pooler.url }) })).toMatchObject({
    transactionPooler: true,
  })
})

test('a pool that leaves values as the text they came as', async () => {
  const types = { getTypeParser: () => (text: string) => text }
  const well = { missing: [], denied: [], transactionPooler: false }
  expect(await diagnose({ pool: poolOf({ types }) })).toMatchObject(well)
  const missing = await diagnose({ pool: poolOf({ types }), schema: 'nowhere' })
  expect(missing.missing).toEqual(['the schema nowhere'])
  server.psql('create role poor login; grant usage on schema holdfast to poor')
  server.psql('grant select, insert on all tables in schema holdfast to poor')
  const poor = poolOf({ types, connectionString: server.url.replace('//postgres@', '//poor@') })
  const { denied } = await diagnose({ pool: poor })
  expect(denied).toContain('UPDATE on holdfast.locks')
  expect(denied).toContain('DELETE on holdfast.locks')
  expect(denied).not.toContain('SELECT on holdfast.locks')
})
