/**
 * A fast path reads the time before it waits for the row of its lock. A renewal that waited longer
 * than a later one must not move the end of the lease back. The time of that path is a second late
 * here, as if it had waited for so long.
 */
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import type { Renewal, Store } from 'holdfast/store'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { claim } from './kits.js'

const TTL_MS = 20_000
const LATE_MS = 5000

const [postgres, mysql] = await Promise.all([startPostgres(), startMysql()])
const pgPool = new Pool({ connectionString: postgres.url, max: 1 })
pgPool.on('error', () => undefined)
const mysqlPool = createPool({ uri: mysql.url, connectionLimit: 1 })
afterAll(async () => {
  await Promise.all([pgPool.end(), mysqlPool.end()])
  await Promise.all([postgres.remove(), mysql.remove()])
})

/** Replaces the first text in a routine. */
function within(schema: string, routine: string, text: string, by: string): string {
  const start = schema.indexOf(`${routine}(`)
  const changed = schema.slice(start).replace(text, () => by)
  expect(start).toBeGreaterThan(0)
  expect(changed).not.toBe(schema.slice(start))
  return schema.slice(0, start) + changed
}

const NOW = "timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))"

/** A store on MySQL with a routine whose time is late. */
function lateOnMysql(routine: string, prefix: string): Store {
  const late = `${NOW} - ${LATE_MS} * 1000`
  mysql.sql(`delimiter //\n${within(mysqlSchema(prefix), prefix + routine, NOW, late)}`)
  return mysqlStore({ pool: mysqlPool, prefix, autoMigrate: false })
}

function lateOnPostgres(): Store {
  const late = `clock_timestamp() - interval '${LATE_MS} ms'`
  const schema = postgresSchema('late')
  postgres.psql(within(schema, 'apply_single_v1', 'clock_timestamp()', late))
  return postgresStore({ pool: pgPool, schema: 'late', autoMigrate: false })
}

const renewalOf = (lock: string): Renewal => ({ ...claim(lock, lock), ttlMs: TTL_MS })
const alone = [renewalOf('a')]
const together = [renewalOf('a'), renewalOf('b')]

test.each([
  { name: 'postgres, alone', open: lateOnPostgres, first: together, second: alone },
  {
    name: 'mysql, alone',
    open: () => lateOnMysql('apply_one_v1', 'alone_'),
    first: together,
    second: alone,
  },
  {
    name: 'mysql, in a batch',
    open: () => lateOnMysql('apply_fast_v1', 'batch_'),
    first: alone,
    second: together,
  },
])('$name', async ({ open, first, second }) => {
  const store = open()
  for (const lock of ['a', 'b']) {
    const attempt = { ...claim(lock, lock), ttlMs: TTL_MS }
    expect(await store.attempt(attempt, { enqueue: false, tokens: 1 })).toMatchObject({
      outcome: 'granted',
    })
  }
  for (const renewals of [first, second]) {
    expect(await store.renew(renewals)).toEqual(renewals.map(() => ({ outcome: 'renewed' })))
  }
  const [info] = await store.inspect(['a'])
  expect(info?.holders[0]?.remainingMs).toBeGreaterThan(TTL_MS - LATE_MS / 2)
  await store.close()
})
