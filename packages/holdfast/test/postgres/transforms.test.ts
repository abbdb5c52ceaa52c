/** Instances of `postgres` whose caller has the answers of the database renamed and remade. */
import { createLocks, type Locks } from 'holdfast'
import { postgresJsTransactions, postgresSchema, postgresStore } from 'holdfast/postgres'
import { advisoryLock, tryAdvisoryLock } from 'holdfast/transaction'
import postgres from 'postgres'
import { afterAll, describe, expect, test } from 'vitest'
import { startPostgres } from '@holdfast/servers/postgres'
import { after } from '../../../../test/support/after.js'

const server = await startPostgres()
server.psql(postgresSchema())
afterAll(() => server.remove())

const TRANSFORMS = {
  camel: postgres.camel,
  pascal: postgres.pascal,
  'upper case': { column: (name: string) => name.toUpperCase() },
  values: { value: (value: unknown) => ({ value }) },
} as const

function open(transform: object): postgres.Sql {
  const sql = postgres(server.url, { max: 4, onnotice: () => undefined, transform })
  after(() => sql.end({ timeout: 1 }))
  return sql
}

function closing<L extends Locks>(locks: L): L {
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

describe.each(Object.entries(TRANSFORMS))('with a transform: %s', (name, transform) => {
  test('locks are acquired, waited for, listed and released', async () => {
    const sql = open(transform)
    const [one, other] = [0, 1].map(() => closing(createLocks(postgresStore({ pool: sql }))))
    const lease = await one?.mutex(name).acquire({ waitMs: 2000 })
    const waiting = other?.mutex(name).acquire({ waitMs: 5000 })
    expect((await other?.inspect())?.locks.map((info) => info.lock)).toContain(name)
    expect(await lease?.release()).toBe('released')
    expect(await (await waiting)?.release()).toBe('released')
  })

  test('a transaction is covered, and its advisory locks are what they are said to be', async () => {
    const sql = open(transform)
    const db = postgresJsTransactions(sql)
    const locks = closing(createLocks(postgresStore({ pool: sql })))
    await locks.transaction(locks.mutex(`covered ${name}`), db, async (tx) => {
      expect(await tryAdvisoryLock(tx, name)).toBe(true)
      await db.transaction(async (other) => expect(await tryAdvisoryLock(other, name)).toBe(false))
      await tx.unsafe("set local lock_timeout = '1234ms'")
      await advisoryLock(tx, `${name}, waited for`, { waitMs: 500 })
      const [setting] = await (tx as postgres.TransactionSql)
        .unsafe("select current_setting('lock_timeout')")
        .raw()
      expect(String(setting?.[0])).toBe('1234ms')
    })
  })
})

test('an instance with a transform of rows is refused with LOCK_USAGE', () => {
  const sql = open({ row: (row: object) => Object.values(row) })
  const refused = /option transform\.row.*an instance of its own/s
  expect(() => postgresStore({ pool: sql })).toThrow(refused)
})
