/**
 * What waiters cost the database: one statement a client and heartbeat, for any number of waiters.
 */
import { createLocks, type Lease, type Locks } from 'holdfast'
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { startPostgres } from '@holdfast/servers/postgres'

const LOCKS = 100
const CLIENTS = 4
const WAITERS = 250
const WINDOW_MS = 3000
const PER_SECOND = 50

test('a thousand waiters on a hundred locks', async () => {
  const server = await startPostgres()
  server.psql(postgresSchema())
  const pools: Pool[] = []
  const client = (): Locks => {
    const pool = new Pool({ connectionString: server.url, max: 4 })
    // The server may end before the last connection is quite closed.
    pool.on('error', () => undefined)
    pools.push(pool)
    return createLocks(postgresStore({ pool }))
  }
  const holder = client()
  const names = Array.from({ length: LOCKS }, (_, index) => `held-${index}`)
  const leases = await Promise.all(names.map((name) => holder.mutex(name).acquire()))
  const clients = Array.from({ length: CLIENTS }, client)
  const waiting: Promise<Lease>[] = clients.flatMap((locks) =>
    Array.from({ length: WAITERS }, (_, index) =>
      locks.mutex(names[index % LOCKS] ?? '').acquire(),
    ),
  )
  // In each process one of its waiters stands in the queue of the lock.
  const queued = (): string => server.psql('select count(*) from holdfast.waiters')
  await expect.poll(queued, { timeout: 10_000 }).toBe(String(CLIENTS * LOCKS))
  const commits = (): number =>
    Number(server.psql(`select xact_commit from pg_stat_database where datname = 'postgres'`))
  const before = commits()
  await new Promise((resolve) => void setTimeout(resolve, WINDOW_MS))
  expect((commits() - before) / (WINDOW_MS / 1000)).toBeLessThan(PER_SECOND)
  expect(queued()).toBe(String(CLIENTS * LOCKS))
  await Promise.all(leases.map((lease) => lease.release()))
  await Promise.all(waiting.map(async (lease) => (await lease).release()))
  for (const locks of [holder, ...clients]) await locks.close()
  for (const pool of pools) await pool.end()
  await server.remove()
})
