/** Session mode on PostgreSQL: what it refuses, and what becomes of a lock whose connection is gone. */
import { createLocks, type Lease, type LockError, type Locks, type LocksOptions } from 'holdfast'
import { postgresStore } from 'holdfast/postgres'
import { CAPACITY_ALL } from 'holdfast/store'
import { advisoryKey, advisoryLock, pgTransactions, tryAdvisoryLock } from 'holdfast/transaction'
import { Pool } from 'pg'
import postgres from 'postgres'
import { afterAll, describe, expect, test } from 'vitest'
import { startPgbouncer } from '@holdfast/servers/pgbouncer'
import { startPostgres } from '@holdfast/servers/postgres'
import { Proxy } from '@holdfast/servers/proxy'
import { endedAfterEach } from '../support/endings.js'

const server = await startPostgres()
const ending = endedAfterEach()
afterAll(() => server.remove())

type Library = 'pg' | 'postgres'

function locksOf(library: Library, of: LocksOptions & { url?: string; max?: number } = {}): Locks<false> {
  const { url = server.url, max = 4, ...options } = of
  const open = (): Locks<false> => {
    if (library === 'pg') {
      const pool = new Pool({ connectionString: url, max })
      pool.on('error', () => undefined)
      ending.push(() => pool.end())
      return createLocks(postgresStore({ pool, mode: 'session' }), options)
    }
    const pool = postgres(url, { max, onnotice: () => undefined, backoff: () => 0.1 })
    ending.push(() => pool.end({ timeout: 1 }))
    return createLocks(postgresStore({ pool, mode: 'session' }), options)
  }
  const locks = open()
  ending.push(() => locks.close({ graceMs: 0 }))
  return locks
}

const failure = (work: Promise<unknown>): Promise<LockError> =>
  work.then(
    () => expect.unreachable('it did not fail'),
    (error: unknown) => error as LockError,
  )

const lossOf = (lease: Lease): Promise<unknown> =>
  new Promise((resolve) => lease.signal.addEventListener('abort', () => resolve(lease.signal.reason)))

const OTHERS = 'from pg_stat_activity where pid <> pg_backend_pid() and datname is not null'
const advisory = (): string => server.psql(`select count(*) from pg_locks where locktype = 'advisory'`)
const connections = (): number => Number(server.psql(`select count(*) ${OTHERS}`))

test('a pool that leaves values as the text they came as', async () => {
  const types = { getTypeParser: () => (text: string) => text }
  const pool = new Pool({ connectionString: server.url, max: 4, types })
  ending.push(() => pool.end())
  const locks = createLocks(postgresStore({ pool, mode: 'session' }))
  ending.push(() => locks.close({ graceMs: 0 }))
  const lease = await locks.mutex('as text').acquire()
  const free = (): Promise<boolean> =>
    pgTransactions(pool).transaction((tx) => tryAdvisoryLock(tx, 'as text'))
  expect(await free()).toBe(false)
  expect(await lease.release()).toBe('released')
  expect(await free()).toBe(true)
})

describe.each(['pg', 'postgres'] as const)('through %s', (library) => {
  test('no table is needed, and other programs see the lock', async () => {
    const locks = locksOf(library)
    const lease = await locks.mutex('order:42').acquire()
    expect(lease.token).toBeUndefined()
    const taken = `select pg_try_advisory_lock(${advisoryKey('order:42')})`
    expect(server.psql(taken)).toBe('f')
    expect(await lease.release()).toBe('released')
    expect(server.psql(taken)).toBe('t')
  })

  test('a lock of a transaction on the same name is the same lock', async () => {
    const lease = await locksOf(library).mutex('shared name').acquire()
    const pool = new Pool({ connectionString: server.url, max: 1 })
    ending.push(() => pool.end())
    const late = pgTransactions(pool).transaction((tx) => advisoryLock(tx, 'shared name', { waitMs: 0 }))
    await expect(late).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
    await lease.release()
  })

  test('a pooler in transaction mode is refused', async () => {
    const pooler = await startPgbouncer(server.port, 'transaction')
    ending.push(() => pooler.remove())
    // Through postgres it takes two seconds each time.
    for (let round = library === 'pg' ? 0 : 2; round < 3; round += 1) {
      const error = await failure(
        locksOf(library, { url: pooler.url, ttlMs: 1000 }).mutex('pooled').acquire(),
      )
      expect(error).toMatchObject({ code: 'STORE_CONFIG' })
      expect(error.message).toContain('pooler in transaction mode')
    }
  })

  test('a pooler in session mode is not', async () => {
    const pooler = await startPgbouncer(server.port, 'session')
    ending.push(() => pooler.remove())
    const lease = await locksOf(library, { url: pooler.url, ttlMs: 1000 }).mutex('pooled').acquire()
    expect(await locksOf(library).mutex('pooled').tryAcquire()).toBeUndefined()
    expect(await lease.release()).toBe('released')
  })

  test('a connection that is killed: the holder is told, the next comes in, and the client goes on', async () => {
    const [mine, other] = [locksOf(library, { ttlMs: 3000 }), locksOf(library)]
    const lease = await mine.mutex('killed').acquire()
    const lost = lossOf(lease)
    const bystander = await mine.mutex('with it').acquire()
    server.psql(
      `select pg_terminate_backend(l.pid) from pg_locks l where locktype = 'advisory' and l.objid::bigint = ${advisoryKey('killed')} & 4294967295`,
    )
    const next = await other.mutex('killed').acquire({ waitMs: 2000 })
    expect(next.held).toBe(true)
    expect(await lost).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' })
    expect([lease.held, await lease.release(), await bystander.release()]).toEqual([false, 'lost', 'lost'])
    await next.release()
    expect(await (await mine.mutex('killed').acquire({ waitMs: 2000 })).release()).toBe('released')
  })

  test('behind a dead network: the holder is told by its deadline, the next comes in soon after', async () => {
    const proxy = await Proxy.to(server.port)
    ending.push(() => proxy.close())
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`
    const mine = locksOf(library, { ttlMs: 1000, url })
    const lease = await mine.mutex('dark').acquire()
    proxy.faults.dropRequests = proxy.faults.dropReplies = true
    const startMs = performance.now()
    const told = new Promise<number>((resolve) =>
      lease.signal.addEventListener('abort', () => resolve(performance.now() - startMs)),
    )
    const next = await locksOf(library).mutex('dark').acquire({ waitMs: 6000 })
    expect(lease.held).toBe(false)
    expect(await told).toBeLessThan(1100)
    expect(await next.release()).toBe('released')
    proxy.heal()
    expect(await (await mine.mutex('dark').acquire({ waitMs: 6000 })).release()).toBe('released')
  })

  test('a release whose answer comes late is a release', async () => {
    const proxy = await Proxy.to(server.port)
    ending.push(() => proxy.close())
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`
    const pool = library === 'pg' ? new Pool({ connectionString: url }) : postgres(url, { max: 4 })
    ending.push(() => pool.end())
    const locks = createLocks(postgresStore({ pool, mode: 'session', requestTimeoutMs: 500 }), {
      ttlMs: 20_000,
    })
    ending.push(() => locks.close({ graceMs: 0 }))
    const lease = await locks.mutex('late answer').acquire()
    // For longer than one request may take, and for less than the release is tried.
    proxy.faults.replyMs = 1200
    expect(await lease.release()).toBe('released')
    proxy.heal()
  })

  test('an answer that is lost while the session opens keeps nobody waiting for that connection', async () => {
    const proxy = await Proxy.to(server.port)
    ending.push(() => proxy.close())
    const connectionString = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`
    const sql = postgres(connectionString, { max: 4, onnotice: () => undefined })
    const pg = new Pool({ connectionString, max: 4 })
    ending.push(() => Promise.all([pg.end(), sql.end({ timeout: 1 })]))
    await sql.unsafe('select 1')
    const pool = library === 'pg' ? pg : sql
    const locks = createLocks(postgresStore({ pool, mode: 'session', requestTimeoutMs: 1000 }))
    ending.push(() => locks.close({ graceMs: 0 }))
    const sessions = (): string =>
      server.psql(`select count(*) ${OTHERS} and state = 'idle in transaction' and query !~* '^begin'`)
    if (library === 'pg') proxy.faults.dropReplies = true
    else proxy.faults.replyMs = 400
    const lost = failure(locks.mutex('lost answer').tryAcquire())
    // Through postgres it gets as far as knowing whom to end: this answer arrives, and a later one is lost.
    if (library === 'postgres') await expect.poll(sessions, { interval: 20 }).toBe('1')
    proxy.faults.dropReplies = true
    expect(await lost).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    proxy.heal()
    const works = (): Promise<boolean> =>
      locks
        .mutex('lost answer')
        .run(() => true)
        .catch(() => false)
    await expect.poll(works, { timeout: 10_000 }).toBe(true)
    // What was given up is gone from the server as well.
    await expect.poll(sessions, { timeout: 5000 }).toBe(library === 'pg' ? '0' : '1')
  }, 20_000)

  test('its connection is given back when nobody needs it, and locks are not left on it', async () => {
    const locks = locksOf(library, { ttlMs: 1000 })
    await expect.poll(connections, { timeout: 5000 }).toBe(0)
    const lease = await locks.mutex('given back').acquire()
    expect(connections()).toBeGreaterThan(0)
    await lease.release()
    await locks.mutex('and again').run(() => undefined)
    if (library === 'pg') await expect.poll(connections, { timeout: 5000 }).toBe(0)
    await expect.poll(advisory, { timeout: 5000 }).toBe('0')
    // And another one when somebody does.
    expect(await (await locks.mutex('given back').acquire()).release()).toBe('released')
  })

  test('what is held when the store is closed runs out, and the pool does not keep it', async () => {
    const pool =
      library === 'pg' ? new Pool({ connectionString: server.url }) : postgres(server.url, { max: 2 })
    ending.push(() => pool.end())
    const store = postgresStore({ pool, mode: 'session' })
    const owner = { clientId: 'client', host: 'test', pid: process.pid }
    const whole = { kind: 'mutex', capacity: CAPACITY_ALL, weight: CAPACITY_ALL } as const
    const claim = { lock: 'left over', id: 'left-over', ...whole, ttlMs: 1000, heartbeatMs: 300, owner }
    expect(await store.attempt(claim, { enqueue: false, tokens: 1 })).toMatchObject({ outcome: 'granted' })
    await store.close()
    expect(advisory()).toBe('1')
    await expect.poll(advisory, { timeout: 3000 }).toBe('0')
  })

  test('what it has not is refused', async () => {
    const locks = locksOf(library)
    const unsupported = { code: 'UNSUPPORTED' }
    expect(() => locks.semaphore('s', { permits: 2 })).toThrow('no semaphore')
    await expect(locks.steal('s')).rejects.toMatchObject(unsupported)
    await expect(locks.inspect()).rejects.toMatchObject(unsupported)
    const db = { dialect: 'postgres', transaction: () => undefined, query: () => undefined } as never
    await expect(locks.transaction(locks.mutex('m'), db, () => Promise.resolve())).rejects.toMatchObject(
      unsupported,
    )
  })
})

test('a pool of one connection cannot spare it', async () => {
  const error = await failure(locksOf('postgres', { max: 1, ttlMs: 500 }).mutex('m').acquire())
  expect(error).toMatchObject({ code: 'STORE_CONFIG' })
})

test('another mode is refused', () => {
  const pool = new Pool({ connectionString: server.url })
  expect(() => postgresStore({ pool, mode: 'sessions' as never })).toThrow("mode is 'session'")
})
