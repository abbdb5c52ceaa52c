/** Parts of the payments example over PostgreSQL that a run of its servers seldom needs. */
import { startPostgres, type PostgresServer } from '@holdfast/servers/postgres'
import { createLocks } from 'holdfast'
import { migratePostgres, postgresStore } from 'holdfast/postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgresOutcomes } from '../../../examples/idempotency/outcomes.mjs'
import { payOnce } from '../../../examples/idempotency/pay-once.mjs'
import { after } from '../../support/after.js'

const SERVERS = 10
const ROUNDS = 5

let postgres: PostgresServer

beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.remove())

function connect(): Pool {
  const pool = new Pool({ connectionString: postgres.url, max: SERVERS })
  // A pool that was ended may still have a connection when the server goes.
  pool.on('error', () => undefined)
  after(() => pool.end())
  return pool
}

test('servers that start at one time on an empty database all find the table', async () => {
  const pool = connect()
  // A connection takes longer than the statement: opened before, they all run at one time.
  const clients = await Promise.all(Array.from({ length: SERVERS }, () => pool.connect()))
  for (const client of clients) client.release()
  for (let round = 0; round < ROUNDS; round += 1) {
    await pool.query('drop table if exists payments')
    const starts = Array.from({ length: SERVERS }, () => postgresOutcomes(pool))
    const failures = (await Promise.allSettled(starts)).filter(
      ({ status }) => status !== 'fulfilled',
    )
    expect(failures).toEqual([])
  }
})

test('a server that lost its lease before the charge does not charge', async () => {
  const pool = connect()
  await migratePostgres(pool)
  const locks = createLocks(postgresStore({ pool }))
  after(() => locks.close())
  const lease = await locks.mutex('payment:lost').acquire()
  after(() => lease.release().catch(() => undefined))
  const kept = await postgresOutcomes(pool)
  const outcomes = {
    ...kept,
    async begin(key: string, payment: string) {
      const begun = await kept.begin(key, payment)
      await locks.steal('payment:lost', { now: true })
      await lease.renew().catch(() => undefined)
      return begun
    },
  }
  const charged: string[] = []
  const provider = {
    takesKeys: true,
    async charge(_: string, key: string) {
      charged.push(key)
      return { status: 201, body: {} }
    },
  }
  await expect(payOnce({ outcomes, provider }, 'lost', '{}', lease)).rejects.toMatchObject({
    code: 'LOCK_LOST',
  })
  expect(charged).toEqual([])
})
