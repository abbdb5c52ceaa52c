/**
 * The way to the database, and the database itself, going away and coming back: on both in the same
 * way.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createLocks, isLockError, type Lease, type Locks, type LocksOptions } from 'holdfast'
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { Proxy } from '@holdfast/servers/proxy'
import { after } from '../../../../test/support/after.js'

const REQUEST_MS = 1500
const TTL_MS = 4000

const postgres = await startPostgres({ durable: true })
const mysql = await startMysql({ durable: true })
postgres.psql(postgresSchema())
mysql.sql(mysqlSchema())

afterAll(() => Promise.all([postgres.remove(), mysql.remove()]))

function through(url: string, port: number): string {
  const changed = new URL(url)
  changed.port = String(port)
  return changed.href
}

function opened(locks: Locks): Locks {
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

function postgresLocks(port: number, options: LocksOptions = {}): Locks {
  const pool = new Pool({
    connectionString: through(postgres.url, port),
    max: 2,
    connectionTimeoutMillis: REQUEST_MS,
  })
  pool.on('error', () => undefined)
  after(() => pool.end())
  return opened(createLocks(postgresStore({ pool, requestTimeoutMs: REQUEST_MS }), options))
}

function mysqlLocks(port: number, options: LocksOptions = {}): Locks {
  const uri = through(mysql.url, port)
  const pool = createPool({ uri, connectionLimit: 3, connectTimeout: REQUEST_MS })
  // It rejects for a connection that it could not make in the black hole.
  after(() => pool.end().catch(() => undefined))
  return opened(createLocks(mysqlStore({ pool, requestTimeoutMs: REQUEST_MS }), options))
}

const DATABASES = [
  {
    name: 'postgres',
    server: postgres,
    locksOf: postgresLocks,
    waiters: () => postgres.psql('select count(*) from holdfast.waiters'),
    endAllConnections: () =>
      postgres.psql(
        "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
      ),
  },
  {
    name: 'mysql',
    server: mysql,
    locksOf: mysqlLocks,
    waiters: () => mysql.sql('select count(*) from holdfast_waiters'),
    endAllConnections: () => {
      const others = mysql.sql(
        "select id from information_schema.processlist where user = 'root' and id <> connection_id()",
      )
      return mysql.sql(
        others
          .split(/\s+/)
          .map((id) => `kill ${id};`)
          .join('\n'),
      )
    },
  },
]

async function proxied(port: number): Promise<Proxy> {
  const proxy = await Proxy.to(port)
  after(() => proxy.close())
  return proxy
}

async function gone(lease: { readonly signal: AbortSignal }): Promise<void> {
  if (lease.signal.aborted) return
  await new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
}

/** Connections that were begun in the black hole fail yet. */
async function healed(locks: Locks, name: string): Promise<Lease> {
  const endMs = performance.now() + 3 * REQUEST_MS
  for (;;) {
    try {
      return await locks.mutex(name).acquire({ waitMs: 5000 })
    } catch (error) {
      if (performance.now() > endMs) throw error
    }
  }
}

/** Acquires enough locks at once that the pool opens all the connections that the store uses. */
async function takeTwo(locks: Locks): Promise<Lease[]> {
  const first = locks.mutex('idle 1').acquire()
  // In a turn of its own, or both would travel together.
  await nextTurn()
  return Promise.all([first, locks.mutex('idle 2').acquire()])
}

describe.each(DATABASES)('$name', ({ server, locksOf, waiters, endAllConnections }) => {
  test('a black hole: the lease ends by its deadline, others get an error in time, and all recovers', async () => {
    const proxy = await proxied(server.port)
    const locks = locksOf(proxy.port, { ttlMs: TTL_MS })
    const lease = await locks.mutex('swallowed').acquire()
    const others = locksOf(proxy.port)
    const waiting = others
      .mutex('swallowed')
      .acquire({ waitMs: 15_000 })
      .catch((error: unknown) => error)
    await expect.poll(waiters, { timeout: 5000 }).toBe('1')
    Object.assign(proxy.faults, { dropRequests: true, dropReplies: true })
    const startMs = performance.now()
    const failed: unknown = await locks
      .mutex('another')
      .tryAcquire()
      .catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await gone(lease)
    expect(lease.held).toBe(false)
    expect(performance.now() - startMs).toBeLessThan(TTL_MS + 500)
    proxy.heal()
    // Connections that swallowed a statement are not used again: no answer would ever come.
    const waited = await waiting
    // A waiter without an answer for long rejects. One that noticed nothing is granted.
    if (isLockError(waited)) expect(waited.code).toBe('STORE_UNAVAILABLE')
    const next = isLockError(waited) ? await healed(others, 'swallowed') : (waited as typeof lease)
    expect(next.token > lease.token).toBe(true)
    expect(await next.release()).toBe('released')
    expect(await (await healed(locks, 'another')).release()).toBe('released')
  })

  test('answers that are lost: what was granted unheard is withdrawn', async () => {
    const proxy = await proxied(server.port)
    const locks = locksOf(proxy.port)
    await (await locks.mutex('unheard').acquire()).release()
    proxy.faults.dropReplies = true
    const failed: unknown = await locks
      .mutex('unheard')
      .tryAcquire()
      .catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    proxy.heal()
    // Far less than the TTL: the attempt arrived, and its withdrawal followed it.
    const lease = await locksOf(server.port).mutex('unheard').acquire({ waitMs: 8000 })
    expect(await lease.release()).toBe('released')
  })

  test.each([true, false])(
    'answers that are lost: a theft that may have ended a lease is not sent again, with now: %s',
    async (now) => {
      const proxy = await proxied(server.port)
      const [thief, holder] = [locksOf(proxy.port), locksOf(server.port)]
      const mutex = holder.mutex(`stolen-unheard-${now}`)
      await mutex.acquire()
      await thief.steal('free', { now })
      proxy.faults.dropReplies = true
      const stealing = thief.steal(mutex.name, { now }).catch((error: unknown) => error)
      await expect
        .poll(async () => (await mutex.inspect()).holders.every(({ stolen }) => stolen), {
          timeout: 5000,
        })
        .toBe(true)
      proxy.heal()
      proxy.reset()
      expect(await stealing).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    },
  )

  test('idle connections that the server has ended unnoticed: requests still succeed', async () => {
    const locks = locksOf(server.port)
    const leases = await takeTwo(locks)
    // Nothing of it is read before the next request leaves.
    endAllConnections()
    const lease = await locks.mutex('idle').tryAcquire()
    expect(lease?.held).toBe(true)
    endAllConnections()
    expect(await Promise.all(leases.map((held) => held.release()))).toEqual([
      'released',
      'released',
    ])
    expect(await lease?.release()).toBe('released')
  })

  test('a steal that was cut off is not done again, since it may have been done', async () => {
    const locks = locksOf(server.port)
    const [lease, other] = await takeTwo(locks)
    endAllConnections()
    await expect(locks.steal('idle 1')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await lease?.release()).toBe('released')
    expect(await other?.release()).toBe('released')
  })

  test('a server that restarts under held locks: leases stay, and waiters are granted', async () => {
    const locks = locksOf(server.port, { ttlMs: 20_000 })
    const lease = await locks.mutex('restarted').acquire()
    const waiting = locksOf(server.port).mutex('restarted').acquire({ waitMs: 15_000 })
    waiting.catch(() => undefined) // awaited below
    await expect.poll(waiters, { timeout: 5000 }).toBe('1')
    // At once, and without a wait for clients.
    server.service.kill('SIGINT')
    await server.service.stop()
    await server.service.start()
    expect(lease.held).toBe(true)
    const renewed = locks.mutex('restarted too').acquire({ waitMs: 5000 })
    expect((await renewed).held).toBe(true)
    expect(await lease.release()).toBe('released')
    const next = await waiting
    expect(next.token > lease.token).toBe(true)
  })
})
