/** What PostgreSQL can refuse: each refusal says what to do, and nothing hangs. */
import { createLocks, type LockError } from 'holdfast'
import { assertFence } from 'holdfast/fence'
import {
  pgTransactions,
  postgresSchema,
  postgresStore,
  type PostgresStoreOptions,
} from 'holdfast/postgres'
import { Pool, type PoolConfig } from 'pg'
import postgres from 'postgres'
import { afterAll, describe, expect, test } from 'vitest'
import { GUARDED, startPostgres } from '@holdfast/servers/postgres'
import { expectKept, expectOneSchema, failureOf } from '../sql/refusals.js'
import { after } from '../../../../test/support/after.js'

const server = await startPostgres()
server.psql(postgresSchema())
afterAll(() => server.remove())

function poolOf(config: PoolConfig = {}): Pool {
  const pool = new Pool({ connectionString: server.url, max: 2, ...config })
  pool.on('error', () => undefined)
  after(() => pool.end())
  return pool
}

const failure = (options: PostgresStoreOptions): Promise<LockError> =>
  failureOf(postgresStore(options))

test.each(['missing', 'pg_catalog'])(
  'a fence in the schema %s says how to make its table',
  async (schema) => {
    const locks = createLocks(postgresStore({ pool: poolOf() }))
    after(() => locks.close({ graceMs: 0 }))
    const lease = await locks.mutex('fenced').acquire()
    const fenced = pgTransactions(poolOf()).transaction((tx) =>
      assertFence(tx, lease, 'resource', { schema }),
    )
    await expect(fenced).rejects.toMatchObject({
      code: 'STORE_CONFIG',
      message: expect.stringContaining('holdfast migrate') as unknown,
    })
  },
)

describe('a connection that cannot be made', () => {
  test('for a wrong password', async () => {
    server.psql(`create role ${GUARDED} login password 'right'`)
    const url = `postgres://${GUARDED}:wrong@127.0.0.1:${server.port}/postgres`
    const pool = poolOf({ connectionString: url })
    await expect(failure({ pool })).resolves.toMatchObject({ code: 'STORE_AUTH' })
    const sql = postgres(url, { max: 1 })
    after(() => sql.end({ timeout: 1 }))
    await expect(failure({ pool: sql })).resolves.toMatchObject({ code: 'STORE_AUTH' })
  })

  test('for a database that is not there', async () => {
    const pool = poolOf({ connectionString: `${server.url}_missing` })
    await expect(failure({ pool })).resolves.toMatchObject({ code: 'STORE_CONFIG' })
  })

  test('for a server that is not there', async () => {
    const unreachable = {
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('can be reached') as unknown,
    }
    const pool = poolOf({ connectionString: 'postgres://postgres@127.0.0.1:1/postgres' })
    await expect(failure({ pool })).resolves.toMatchObject(unreachable)
    const sql = postgres('postgres://postgres@127.0.0.1:1/postgres', { max: 1 })
    after(() => sql.end({ timeout: 1 }))
    await expect(failure({ pool: sql })).resolves.toMatchObject(unreachable)
  })
})

describe('a database that is not ready', () => {
  test('without the schema', async () => {
    const error = await failure({ pool: poolOf(), schema: 'nowhere' })
    expect(error.code).toBe('STORE_CONFIG')
    expect(error.message).toContain('postgresSchema()')
    expect(server.psql(`select count(*) from pg_namespace where nspname = 'nowhere'`)).toBe('0')
  })

  test('makes the schema when asked to, also for several clients at once', async () => {
    await expectOneSchema(() =>
      postgresStore({ pool: poolOf(), schema: 'Made', autoMigrate: true }),
    )
  })

  test('the schema may be made again while it is in use', async () => {
    await expectKept(postgresStore({ pool: poolOf() }), () => server.psql(postgresSchema()))
  })

  test('with a table of another program under its name', async () => {
    server.psql(postgresSchema('foreign_table'))
    server.psql('alter table foreign_table.locks rename column kind to sort')
    const error = await failure({ pool: poolOf(), schema: 'foreign_table' })
    expect(error.code).toBe('STORE_CONFIG')
    expect(error.message).toContain('foreign_table')
  })

  test('with too few rights', async () => {
    server.psql('create role poor login')
    const pool = poolOf({ connectionString: `postgres://poor@127.0.0.1:${server.port}/postgres` })
    const error = await failure({ pool })
    expect(error.code).toBe('STORE_AUTH')
    expect(error.message).toContain('USAGE')
  })

  test('that takes no writes', async () => {
    const pool = poolOf({ options: '-c default_transaction_read_only=on' })
    const error = await failure({ pool })
    expect(error.code).toBe('STORE_CONFIG')
    expect(error.message).toContain('primary')
  })

  test('whose transactions see old rows', async () => {
    for (const level of ['repeatable read', 'serializable']) {
      const options = `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`
      const error = await failure({ pool: poolOf({ options }) })
      expect(error.code).toBe('STORE_CONFIG')
      expect(error.message).toContain('READ COMMITTED')
    }
  })
})

describe('options', () => {
  test.each([{}, { pool: {} }, { pool: null }, { pool: 'postgres://localhost' }])(
    'without a pool: %j',
    (options) => {
      expect(() => postgresStore(options as never)).toThrow('needs a pool')
    },
  )

  test.each(['', 'a b', 'a"b', 'a$b', 'x'.repeat(64), 7])('with the schema %j', (schema) => {
    expect(() => postgresStore({ pool: poolOf(), schema: schema as string })).toThrow('schema')
    expect(() => postgresSchema(schema as string)).toThrow('schema')
  })

  test.each([0, -1, NaN, Infinity, 2 ** 31, '200', 200n, true, [300], null])(
    'with a time limit of %s',
    (limit) => {
      const requestTimeoutMs = limit as number
      expect(() => postgresStore({ pool: poolOf(), requestTimeoutMs })).toThrow('requestTimeoutMs')
    },
  )
})

test('labels and reasons may have any characters', async () => {
  const label = 'null \u0000, half \ud800, "quotes" \'and\' \\ 🔒'
  const store = postgresStore({ pool: poolOf() })
  const locks = createLocks(store, { label })
  const lease = await locks.mutex('labelled').acquire()
  const [info] = await store.inspect(['labelled'])
  expect(info?.holders[0]?.owner.label).toBe(label)
  await lease.release()
  await locks.close()
})

test('one request that the database cannot read does not fail the others of its turn', async () => {
  const store = postgresStore({ pool: poolOf() })
  const owner = { clientId: 'c', host: 'h', pid: 1 }
  const shape = {
    kind: 'mutex',
    capacity: 1,
    weight: 1,
    ttlMs: 1000,
    heartbeatMs: 300,
    owner,
  } as const
  const results = await Promise.allSettled([
    store.attempt({ ...shape, lock: 'readable', id: 'one' }, { enqueue: false, tokens: 1 }),
    store.attempt(
      { ...shape, lock: 'not \u0000 readable', id: 'two' },
      { enqueue: false, tokens: 1 },
    ),
  ])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  await store.close()
})
