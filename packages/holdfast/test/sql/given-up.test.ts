/**
 * Attempts whose callers have given up, and releases that were repeated, on a connection that
 * breaks later than a TTL. The database has forgotten their withdrawals by then.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import type { Store } from 'holdfast/store'
import { createPool } from 'mysql2'
import { Pool } from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { Proxy } from '@holdfast/servers/proxy'
import { after, closing } from '../../../../test/support/after.js'
import { makeClaim, QUEUE, take, TRY } from '../../../../test/support/claims.js'

const TTL_MS = 200

const postgres = await startPostgres()
const mysql = await startMysql()
postgres.psql(postgresSchema())
mysql.sql(mysqlSchema())
afterAll(() => Promise.all([postgres.remove(), mysql.remove()]))

function openPostgres(url: string): Store {
  const pool = new Pool({ connectionString: url, max: 3 })
  pool.on('error', () => undefined)
  after(() => pool.end())
  return closing(postgresStore({ pool }))
}

function openMysql(url: string): Store {
  const pool = createPool({ uri: url, connectionLimit: 3 })
  after(() => {
    pool.end(() => undefined)
  })
  return closing(mysqlStore({ pool }))
}

const DATABASES = [
  { name: 'postgres', server: postgres, open: openPostgres },
  { name: 'mysql', server: mysql, open: openMysql },
]

/** Resolves when clients have sent more than this number of packets. */
const hasCome = (proxy: Proxy, packets: number): Promise<void> =>
  expect.poll(() => proxy.packets).toBeGreaterThan(packets)

/** Lets the database forget the withdrawals, then ends the connections. */
async function endLate(proxy: Proxy): Promise<void> {
  await pause(2 * TTL_MS)
  proxy.reset()
}

async function holdersOf(store: Store, lock: string): Promise<number> {
  const [info] = await store.inspect([lock])
  return info?.holders.length ?? 0
}

describe.each(DATABASES)('$name', ({ name, server, open }) => {
  async function proxied(): Promise<{ store: Store; proxy: Proxy }> {
    const proxy = await Proxy.to(server.port)
    after(() => proxy.close())
    const url = new URL(server.url)
    url.port = String(proxy.port)
    return { store: open(url.href), proxy }
  }

  test.each([
    ['an attempt', QUEUE],
    ['an attempt that does not queue', TRY],
  ])('%s behind an open release is not sent after its withdrawal', async (lock, options) => {
    const { store, proxy } = await proxied()
    const [held, next] = [makeClaim(lock), makeClaim(lock, { ttlMs: TTL_MS })]
    await take(store, held)
    const { packets } = proxy
    proxy.faults.dropReplies = true
    const released = store.withdraw(held)
    await store.noteOpenRelease?.(lock)
    await hasCome(proxy, packets)
    const attempt = store.attempt(next, options)
    proxy.heal()
    expect(await store.withdraw(next)).toBe('absent')
    expect(await attempt).toEqual({ outcome: 'withdrawn' })
    await endLate(proxy)
    expect(await released).toBe('released')
    expect(await holdersOf(store, lock)).toBe(0)
  })

  test('an attempt whose connection breaks is not repeated after its withdrawal', async () => {
    const { store, proxy } = await proxied()
    const lock = 'repeated'
    const earlier = makeClaim(lock)
    await take(store, earlier)
    await store.withdraw(earlier)
    const [first, other] = [makeClaim(lock, { ttlMs: TTL_MS }), makeClaim('another')]
    const { packets } = proxy
    proxy.faults.dropRequests = true
    // The second request is repeated, and comes back with an answer of its own.
    const attempts = [store.attempt(first, QUEUE), store.attempt(other, QUEUE)] as const
    await hasCome(proxy, packets)
    proxy.heal()
    expect(await store.withdraw(first)).toBe('absent')
    await endLate(proxy)
    expect(await attempts[0]).toMatchObject({ outcome: 'withdrawn' })
    expect(await attempts[1]).toMatchObject({ outcome: 'granted' })
    expect(await holdersOf(store, lock)).toBe(0)
    expect(await store.withdraw(other)).toBe('released')
  })

  test('an attempt alone whose connection breaks is not repeated, and harms no later one', async () => {
    const { store, proxy } = await proxied()
    const lock = 'repeated alone'
    const earlier = makeClaim(lock)
    await take(store, earlier)
    await store.withdraw(earlier)
    const [first, next] = [makeClaim(lock, { ttlMs: TTL_MS }), makeClaim(lock)]
    const { packets } = proxy
    proxy.faults.dropRequests = true
    const attempt = store.attempt(first, QUEUE)
    await hasCome(proxy, packets)
    proxy.heal()
    expect(await store.withdraw(first)).toBe('absent')
    await endLate(proxy)
    expect(await attempt).toMatchObject({ outcome: 'withdrawn' })
    await take(store, next)
    expect(await store.withdraw(next)).toBe('released')
  })

  test('a repeated release that finds nothing is unknown', async () => {
    const { store, proxy } = await proxied()
    const held = makeClaim(`unheard in ${name}`, { ttlMs: TTL_MS })
    await take(store, held)
    const { packets } = proxy
    proxy.faults.dropReplies = true
    const released = Promise.resolve(store.withdraw(held))
    released.catch(() => undefined) // awaited below
    await hasCome(proxy, packets)
    proxy.heal()
    await endLate(proxy)
    await expect(released).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})
