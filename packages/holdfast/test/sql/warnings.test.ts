/** Warnings that a process gets once. */
import { once } from 'node:events'
import { createLocks, type Locks } from 'holdfast'
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import { Pool } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { startPostgres } from '@holdfast/servers/postgres'
import { after } from '../../../../test/support/after.js'

const server = await startPostgres()
server.psql(postgresSchema())
afterAll(() => server.remove())

const codes: unknown[] = []
process.on('warning', (warning) => codes.push((warning as NodeJS.ErrnoException).code))

function open(): { pool: Pool; locks: Locks } {
  const pool = new Pool({ connectionString: server.url, max: 2 })
  after(() => pool.end())
  const locks = createLocks(postgresStore({ pool }))
  after(() => locks.close({ graceMs: 0 }))
  return { pool, locks }
}

test('a pool of pg without a listener for errors, also one that comes later', async () => {
  const listened = open()
  listened.pool.on('error', () => undefined)
  await listened.locks.ping()
  expect(codes).not.toContain('HOLDFAST_POOL_ERRORS')
  const [warning] = [once(process, 'warning'), await open().locks.ping()]
  expect(await warning).toMatchObject([{ code: 'HOLDFAST_POOL_ERRORS' }])
  await open().locks.ping()
  expect(codes.filter((code) => code === 'HOLDFAST_POOL_ERRORS').length).toBe(1)
})

test('a connection that was left inside of a transaction', async () => {
  const { pool, locks } = open()
  pool.on('error', () => undefined)
  const client = await pool.connect()
  await client.query('begin')
  client.release()
  const warning = once(process, 'warning')
  await (await locks.mutex('warned').acquire()).release()
  expect(await warning).toMatchObject([{ code: 'HOLDFAST_OPEN_TRANSACTION' }])
  await client.query('rollback')
})
