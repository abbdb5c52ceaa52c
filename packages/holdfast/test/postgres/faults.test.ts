/** What can happen to a server and its connections while locks are held and waited for. */
import { createLocks, type Locks, type LocksOptions } from 'holdfast'
import {
  migratePostgres,
  pgTransactions,
  postgresSchema,
  postgresStore,
  type PostgresStoreOptions,
} from 'holdfast/postgres'
import { postgresJsTransactions } from 'holdfast/transaction'
import { Pool, type PoolConfig } from 'pg'
import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { startPgbouncer } from '@holdfast/servers/pgbouncer'
import { GUARDED, startPostgres } from '@holdfast/servers/postgres'
import { Proxy } from '@holdfast/servers/proxy'
import { after } from '../../../../test/support/after.js'
import { nextRenewal } from '../../../../test/support/renewals.js'

const server = await startPostgres()
server.psql(postgresSchema())
afterAll(() => server.remove())

function poolOf(config: PoolConfig = {}): Pool {
  const pool = new Pool({ connectionString: server.url, max: 2, ...config })
  pool.on('error', () => undefined)
  after(() => pool.end())
  return pool
}

function locksOf(options: PostgresStoreOptions, of: LocksOptions = {}): Locks {
  const locks = createLocks(postgresStore(options), of)
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

const waiters = (lock: string): Promise<string> =>
  server.ask(`select count(*) from holdfast.waiters where lock = '${lock}'`)

async function untilWaiting(lock: string, count: number): Promise<void> {
  await expect.poll(() => waiters(lock), { timeout: 5000 }).toBe(String(count))
}

test('a server that stalls: the outcome is unknown, and nothing is left of it', async () => {
  const locks = locksOf({ pool: poolOf(), requestTimeoutMs: 300 })
  const warm = await locks.mutex('warm').acquire()
  await warm.release()
  const others = `datname = 'postgres' and pid <> pg_backend_pid()`
  const backends = (await server.ask(`select pid from pg_stat_activity where ${others}`))
    .split('\n')
    .map(Number)
  for (const pid of backends) process.kill(pid, 'SIGSTOP')
  const failed: unknown = await locks
    .mutex('stalled')
    .tryAcquire()
    .catch((error: unknown) => error)
  for (const pid of backends) process.kill(pid, 'SIGCONT')
  expect(failed).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  const held = (): Promise<string> =>
    server.ask(
      `select count(*) from holdfast.locks where name = 'stalled' and (listed or sole_id is not null)`,
    )
  await expect.poll(held, { timeout: 5000 }).toBe('0')
  const lease = await locks.mutex('stalled').acquire({ waitMs: 1000 })
  await lease.release()
})

test('an exhausted pool: leases are renewed, locks are acquired and released', async () => {
  const pool = poolOf({ max: 1 })
  const locks = locksOf({ pool }, { ttlMs: 3000 })
  const lease = await locks.mutex('exhausted').acquire()
  const busy = await pool.connect()
  await busy.query('begin')
  await nextRenewal('exhausted')
  expect(lease.held).toBe(true)
  const second = await locks.mutex('exhausted too').acquire({ waitMs: 2000 })
  expect(await second.release()).toBe('released')
  expect(await lease.release()).toBe('released')
  await busy.query('rollback')
  busy.release()
})

test.each([
  ['a text', 'secret'],
  ['a function', () => Promise.resolve('secret')],
])('a connection of our own has the password of the pool, given as %s', async (_kind, password) => {
  await server.ask(
    `drop role if exists ${GUARDED}; create role ${GUARDED} login superuser password 'secret'`,
  )
  const pool = new Pool({
    host: '127.0.0.1',
    port: server.port,
    user: GUARDED,
    database: 'postgres',
    password,
    max: 1,
  })
  after(() => pool.end())
  const busy = await pool.connect()
  after(async () => busy.release())
  const lease = await locksOf({ pool }).mutex('guarded').tryAcquire()
  expect(await lease?.release()).toBe('released')
})

test('connections: the pool of the caller and one more, however many wait', async () => {
  const before = Number(await server.ask('select count(*) from pg_stat_activity'))
  const holder = locksOf({ pool: poolOf() })
  const waiting = locksOf({ pool: poolOf() })
  const names = Array.from({ length: 60 }, (_, index) => `many-${index}`)
  const leases = await Promise.all(names.map((name) => holder.mutex(name).acquire()))
  const next = names.map((name) => waiting.mutex(name).acquire())
  await expect
    .poll(() => server.ask(`select count(*) from holdfast.waiters where lock like 'many-%'`), {
      timeout: 5000,
    })
    .toBe('60')
  const now = Number(await server.ask('select count(*) from pg_stat_activity'))
  expect(now - before).toBeLessThanOrEqual(2 + 2 + 1)
  await Promise.all(leases.map((lease) => lease.release()))
  for (const lease of await Promise.all(next)) await lease.release()
})

test('a pool that the caller passed in is not closed', async () => {
  const pool = poolOf()
  const locks = createLocks(postgresStore({ pool }))
  await locks.mutex('open').run(() => undefined)
  await locks.close()
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})

test.each(['pg', 'postgres'])(
  'closing waits for no connection that is silent, through %s',
  async (library) => {
    const name = `silent-${library}`
    const held = await locksOf({ pool: poolOf() }).mutex(name).acquire()
    const sql = postgres(server.url, {
      max: 2,
      fetch_types: false,
      onnotice: () => undefined,
      connection: { application_name: name },
    })
    after(() => sql.end({ timeout: 1 }))
    const locks = locksOf({ pool: library === 'pg' ? poolOf({ application_name: name }) : sql })
    const waiting = locks
      .mutex(name)
      .acquire()
      .catch((error: unknown) => error)
    await untilWaiting(name, 1)
    const listening = (): Promise<string> =>
      server.ask(
        `select pid from pg_stat_activity where application_name = '${name}' and query ~* '^listen'`,
      )
    await expect.poll(listening, { timeout: 5000 }).not.toBe('')
    const pid = Number(await listening())
    process.kill(pid, 'SIGSTOP')
    after(async () => void process.kill(pid, 'SIGCONT'))
    await locks.close({ graceMs: 100 })
    expect(await waiting).toMatchObject({ code: 'LOCKS_CLOSED' })
    expect(await held.release()).toBe('released')
  },
  10_000,
)

test.each(['pg', 'postgres'])(
  'a pooler that lends another connection each time, through %s',
  async (library) => {
    const pooler = await startPgbouncer(server.port, 'transaction')
    after(() => pooler.remove())
    const sql = postgres(pooler.url, { max: 2, fetch_types: false, onnotice: () => undefined })
    after(() => sql.end({ timeout: 1 }))
    // Two clients, whose statements have the same name, and who get each other's connections of the
    // server.
    const clients = [0, 1].map(() =>
      locksOf({ pool: library === 'pg' ? poolOf({ connectionString: pooler.url }) : sql }),
    )
    for (let round = 0; round < 10; round += 1) {
      const leases = await Promise.all(
        clients.flatMap((locks, client) =>
          [0, 1, 2].map((each) => locks.mutex(`lent-${client}-${each}`).acquire({ waitMs: 0 })),
        ),
      )
      for (const lease of leases) expect(await lease.release()).toBe('released')
    }
  },
)

test('a pooler that lends another connection for the second commit, through postgres', async () => {
  const pooler = await startPgbouncer(server.port, 'transaction', 2)
  after(() => pooler.remove())
  const sql = postgres(pooler.url, { max: 2, fetch_types: false, onnotice: () => undefined })
  after(() => sql.end({ timeout: 1 }))
  server.psql('create table committed (id integer)')
  const db = postgresJsTransactions(sql)
  await db.transaction(async (tx) => tx.unsafe('insert into committed values (1)'))
  // The pooler lends the connection that it used last, on which COMMIT is prepared.
  const other = await poolOf({ connectionString: pooler.url }).connect()
  await other.query('begin')
  await db.transaction(async (tx) => tx.unsafe('insert into committed values (2)'))
  await other.query('rollback')
  other.release()
  expect(await server.ask('select count(*) from committed')).toBe('2')
  const swallowing = db.transaction(async (tx) =>
    tx.unsafe('nonsense').then(undefined, () => 'swallowed'),
  )
  await expect(swallowing).rejects.toThrow()
})

test('a pooler, between transactions and migrations of both libraries', async () => {
  const pooler = await startPgbouncer(server.port, 'transaction', 2)
  after(() => pooler.remove())
  const sql = postgres(pooler.url, { max: 3, fetch_types: false, onnotice: () => undefined })
  after(() => sql.end({ timeout: 1 }))
  const pool = poolOf({ connectionString: pooler.url })
  server.psql('create table pooled (id integer)')
  const [db, other] = [postgresJsTransactions(sql), pgTransactions(pool)]
  for (let round = 0; round < 5; round += 1) {
    await Promise.all([
      db.transaction(async (tx) => tx.unsafe('insert into pooled values (1)')),
      other.transaction((tx) => tx.query('insert into pooled values (2)')),
      migratePostgres(round % 2 === 0 ? sql : pool, `pooled_${round}`),
    ])
  }
  expect(await server.ask('select count(*) from pooled')).toBe('10')
  expect(await server.ask("select count(*) from pg_namespace where nspname like 'pooled%'")).toBe(
    '5',
  )
})

test.each(['pg', 'postgres'])(
  'a database or a user that a pooler does not let in, through %s',
  async (library) => {
    const pooler = await startPgbouncer(server.port, 'transaction')
    after(() => pooler.remove())
    const refusalOf = (url: string): Promise<unknown> => {
      const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined })
      after(() => sql.end({ timeout: 1 }))
      const pool = library === 'pg' ? poolOf({ connectionString: url }) : sql
      return locksOf({ pool })
        .mutex('a')
        .acquire({ waitMs: 0 })
        .catch((error: unknown) => error)
    }
    expect(await refusalOf(pooler.url.replace(/postgres$/, 'nowhere'))).toMatchObject({
      code: 'STORE_CONFIG',
      message: expect.stringContaining('Create the database'),
    })
    expect(await refusalOf(pooler.url.replace('postgres@', 'unknown@'))).toMatchObject({
      code: 'STORE_AUTH',
      message: expect.stringContaining('Check user'),
    })
  },
)

// By default `postgres` asks each new connection for the types of arrays, and does not catch the
// failure of that query.
test('through postgres without fetch_types, a server that restarts under a new connection', async () => {
  const proxy = await Proxy.to(server.port)
  after(() => proxy.close())
  proxy.faults.requestMs = 1000
  const url = server.url.replace(String(server.port), String(proxy.port))
  const sql = postgres(url, {
    max: 2,
    fetch_types: false,
    onnotice: () => undefined,
    backoff: () => 0.05,
  })
  after(() => sql.end({ timeout: 1 }))
  const locks = locksOf({ pool: sql })
  const failed = locks
    .mutex('restarted')
    .acquire()
    .catch((error: unknown) => error)
  // The first question of the new connection is on its way: to a server that is not there any more.
  await expect.poll(() => proxy.packets, { interval: 5 }).toBe(2)
  await server.service.crash()
  proxy.faults.requestMs = 0
  expect(await failed).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await server.service.start()
  const works = (): Promise<boolean> =>
    locks
      .mutex('after the restart')
      .run(() => true)
      .catch(() => false)
  await expect.poll(works, { timeout: 10_000 }).toBe(true)
})

test.each(['store', 'transaction'])(
  'a connection whose end comes together with it, in a %s',
  async (use) => {
    const proxy = await Proxy.to(server.port)
    after(() => proxy.close())
    proxy.faults.replyMs = 4000
    const url = server.url.replace(String(server.port), String(proxy.port))
    const pool = poolOf({ connectionString: url, application_name: `terminated-${use}` })
    const work =
      use === 'store'
        ? locksOf({ pool }).mutex('terminated').acquire()
        : pgTransactions(pool).transaction((tx) => tx.query('select 1'))
    const outcome = work.catch((error: unknown) => error)
    const terminated = `from pg_stat_activity where application_name = 'terminated-${use}'`
    await expect.poll(() => server.ask(`select count(*) ${terminated}`), { interval: 5 }).toBe('1')
    // The next packet follows the delayed one at once: both arrive together.
    proxy.faults.replyMs = 0
    await server.ask(`select pg_terminate_backend(pid) ${terminated}`)
    // The store may send its request again on another connection. A statement of a transaction may
    // not be sent again.
    if (use === 'store') expect(await outcome).toMatchObject({ held: true })
    else expect(await outcome).toBeInstanceOf(Error)
  },
)
