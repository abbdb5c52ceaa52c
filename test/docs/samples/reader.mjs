/** The program around a sample: what it takes for granted, and servers at the ports it names. */
import { EventEmitter } from 'node:events'
import './ports.mjs'

const nothing = async () => undefined
Object.assign(globalThis, {
  work: nothing,
  async charge(_order, { signal, token }) {
    if (signal.aborted || typeof token !== 'bigint') throw new Error('charged without a lease')
  },
  load: async (id) => ({ id }),
  ship: nothing,
  markShipped: nothing,
  importFiles: nothing,
  schedule: nothing,
  buildAndStore: async () => 'report',
  readStored: nothing,
  buildReport: async () => 'report',
  checkout: nothing,
  freshToken: async () => 'token',
  migrate: nothing,
  poll: nothing,
  stop: nothing,
  train: nothing,
  seenEnough: () => true,
  server: Object.assign(new EventEmitter(), {
    close() {
      queueMicrotask(() => this.emit('close'))
    },
    closeIdleConnections() {},
    closeAllConnections() {},
  }),
  client: { disconnect() {} },
  userId: 'user',
  tickSoon,
  signal: new AbortController().signal,
  shutdown: new AbortController().signal,
})

/**
 * Returns a pattern whose next tick comes in two to three seconds, and then every ten. A job that
 * starts beside a tick warns, or runs before its scheduler knows it. One that ticks beside the end
 * of the program finds its locks closed.
 */
function tickSoon() {
  const second = new Date().getSeconds() + 3
  return `${second % 10}-59/10 * * * * *`
}

const { LOCKS, DATABASE_URL } = process.env
if (LOCKS === 'postgres:') await defineDatabases()
if (LOCKS) await defineLocks(LOCKS.replace('postgres:', DATABASE_URL))

async function defineLocks(url) {
  const { createLocks } = await import('holdfast')
  const { openStore } = await import('holdfast/url')
  const locks = createLocks(await openStore(url))
  // Each call of the samples is one of several that a reader chooses from: all are granted.
  const lock = locks.semaphore('lock', { permits: 9, renew: false })
  Object.assign(globalThis, { locks, lock, lease: await locks.mutex('lease').acquire() })
}

async function defineDatabases() {
  const { migratePostgres } = await import('holdfast/postgres')
  const { Kysely, PostgresDialect } = await import('kysely')
  const { Pool } = await import('pg')
  const { default: postgres } = await import('postgres')
  const { Redis } = await import('ioredis')
  const pool = new Pool({ connectionString: DATABASE_URL })
  pool.on('error', () => undefined)
  await migratePostgres(pool)
  const db = new Kysely({ dialect: new PostgresDialect({ pool }) })
  const sql = postgres(DATABASE_URL, { fetch_types: false, onnotice() {} })
  Object.assign(globalThis, { pool, db, sql, redis: new Redis() })
}
