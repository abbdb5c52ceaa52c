/**
 * A release for which no `run` waits, and the next attempt for its lock: they travel in one
 * statement, which does what two would do.
 */
import { createLocks, type Locks } from 'holdfast'
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

const postgres = await startPostgres()
const mysql = await startMysql()
postgres.psql(postgresSchema())
mysql.sql(mysqlSchema())
afterAll(() => Promise.all([postgres.remove(), mysql.remove()]))

/** A store, and how many statements have left through its pool. */
interface Counted {
  readonly store: Store
  statements: number
}

interface Unawaited extends Counted {
  readonly locks: Locks
}

/** What runs a statement on a connection. */
type Runs = Record<string, (...args: unknown[]) => unknown>

/** Calls `onSend` before each statement of a connection. */
function watch(connection: unknown, method: string, onSend: () => void): void {
  const runs = connection as Runs
  const send = runs[method]?.bind(connection)
  runs[method] = (...args) => {
    onSend()
    return send?.(...args)
  }
}

function openPostgres(url = postgres.url): Counted {
  const pool = new Pool({ connectionString: url, max: 3 })
  pool.on('error', () => undefined)
  const counted = { store: closing(postgresStore({ pool })), statements: 0 }
  pool.on('connect', (client) => watch(client, 'query', () => (counted.statements += 1)))
  after(() => pool.end())
  return counted
}

function openMysql(url = mysql.url): Counted {
  const pool = createPool({ uri: url, connectionLimit: 3 })
  const counted = { store: closing(mysqlStore({ pool })), statements: 0 }
  pool.on('connection', (of) => watch(of, 'execute', () => (counted.statements += 1)))
  after(() => {
    pool.end(() => undefined)
  })
  return counted
}

const KITS = [
  {
    name: 'postgres',
    open: openPostgres,
    url: postgres.url,
    port: postgres.port,
    read: (sql: string): string => postgres.psql(sql.replaceAll('TABLES', 'holdfast.')),
  },
  {
    name: 'mysql',
    open: openMysql,
    url: mysql.url,
    port: mysql.port,
    read: (sql: string): string => mysql.sql(sql.replaceAll('TABLES', 'holdfast_')),
  },
]

async function loop(locks: Locks, name: string, rounds: number): Promise<bigint[]> {
  const tokens: bigint[] = []
  for (let round = 0; round < rounds; round += 1)
    await locks.mutex(name).run(({ token }) => void tokens.push(token))
  return tokens
}

/** Returns how many statements ten runs take. */
async function statementsOf(client: Unawaited, lock: string): Promise<number> {
  client.statements = 0
  await loop(client.locks, lock, 10)
  return client.statements
}

function grows(tokens: readonly bigint[]): boolean {
  return tokens.every((token, index) => index === 0 || token > (tokens[index - 1] as bigint))
}

describe.each(KITS)('on $name', ({ open, read, url, port }) => {
  function unawaited(): Unawaited {
    const counted = open()
    return Object.assign(counted, { locks: createLocks(counted.store, { awaitRelease: false }) })
  }

  test('a loop of runs takes one statement for each', async () => {
    const client = unawaited()
    await loop(client.locks, 'loop', 5)
    client.statements = 0
    const tokens = await loop(client.locks, 'loop', 20)
    expect(client.statements).toBe(20)
    expect(grows(tokens)).toBe(true)
    await client.locks.close()
    const other = createLocks(open().store)
    expect(await other.mutex('loop').tryAcquire()).toBeDefined()
  })

  test('a waiter of another client is next, and the loop is as short as before afterwards', async () => {
    const client = unawaited()
    const other = createLocks(open().store)
    await loop(client.locks, 'shared', 5)
    const order: string[] = []
    const waits = client.locks.mutex('shared').run(async () => {
      const waiting = other.mutex('shared').run(() => void order.push('other'))
      const isWaiting = async (): Promise<number> =>
        (await other.mutex('shared').inspect()).waiters.length
      await expect.poll(isWaiting, { timeout: 5000 }).toBe(1)
      return { waiting }
    })
    const { waiting } = await waits
    await client.locks.mutex('shared').run(() => void order.push('loop'))
    await waiting
    expect(order).toEqual(['other', 'loop'])
    // Statements of the wait may still be on their way.
    await expect.poll(() => statementsOf(client, 'shared'), { timeout: 5000 }).toBe(10)
  })

  test('a lock that is looked at is released and granted all the same', async () => {
    const client = unawaited()
    await loop(client.locks, 'seen', 5)
    const look = async (): Promise<void> => {
      const { holders } = await client.locks.mutex('seen').inspect()
      expect(holders).toHaveLength(1)
    }
    for (let round = 0; round < 3; round += 1) await client.locks.mutex('seen').run(look)
    await loop(client.locks, 'seen', 3)
    expect(await statementsOf(client, 'seen')).toBe(10)
  })

  test('a claim that was withdrawn before is not granted, and the lock is free', async () => {
    const { store } = open()
    for (let round = 0; round < 3; round += 1) {
      const [held, withdrawn, next] = [makeClaim('w'), makeClaim('w'), makeClaim('w')]
      // Before the lock has a holder, whom it would move out of the row.
      expect(await store.withdraw(withdrawn)).toBe('absent')
      await take(store, held)
      const released = Promise.resolve(store.withdraw(held))
      expect(await store.attempt(withdrawn, QUEUE)).toMatchObject({ outcome: 'withdrawn' })
      expect(await released).toBe('released')
      await take(store, next)
      expect(await store.withdraw(next)).toBe('released')
    }
  })

  test('another holder keeps the lock, and the attempt waits for it', async () => {
    const [{ store }, other] = [open(), open()]
    for (let round = 0; round < 3; round += 1) {
      const [ended, holder, next] = [makeClaim('k'), makeClaim('k'), makeClaim('k')]
      await take(store, ended)
      await store.steal('k', { now: true })
      await take(other.store, holder)
      const released = Promise.resolve(store.withdraw(ended))
      expect(await store.attempt(next, QUEUE)).toMatchObject({ outcome: 'waiting' })
      expect(await released).toBe('absent')
      expect(await other.store.withdraw(holder)).toBe('released')
      expect(await store.attempt(next, TRY)).toMatchObject({ outcome: 'granted' })
      expect(await store.withdraw(next)).toBe('released')
    }
  })

  test.each([false, true])(
    'an answer that is lost with its connection (another had the lock since: %s)',
    async (isTaken) => {
      const lock = `cut ${isTaken}`
      const proxy = await Proxy.to(port)
      after(() => proxy.close())
      const through = new URL(url)
      through.port = String(proxy.port)
      const { store } = open(through.href)
      const [first, held, next] = [makeClaim(lock), makeClaim(lock), makeClaim(lock)]
      await take(store, first)
      // Prepares the statement.
      expect(await Promise.all([store.withdraw(first), store.attempt(held, TRY)])).toMatchObject([
        'released',
        { outcome: 'granted' },
      ])
      proxy.faults.dropReplies = true
      const both = Promise.allSettled([store.withdraw(held), store.attempt(next, TRY)])
      const holder = `select count(*) from TABLESlocks where name = '${lock}' and sole_id = '${next.id}'`
      await expect.poll(() => read(holder), { timeout: 5000 }).toBe('1')
      if (isTaken) await takeFrom(lock)
      proxy.heal()
      proxy.reset()
      const [released, attempted] = await both
      if (!isTaken) {
        expect(released).toEqual({ status: 'fulfilled', value: 'released' })
        expect(attempted).toMatchObject({ value: { outcome: 'granted', alreadyGranted: true } })
        return
      }
      // PostgreSQL remembers the release, and MariaDB does not know how the claim has ended.
      if (released.status === 'fulfilled') expect(released.value).toBe('released')
      else expect(released.reason).toMatchObject({ code: 'STORE_UNAVAILABLE' })
      expect(attempted).toMatchObject({ value: { outcome: 'withdrawn' } })
    },
  )

  /** Another client steals the lock, and holds it. */
  async function takeFrom(lock: string): Promise<void> {
    const { store } = open()
    await store.steal(lock, { now: true })
    await take(store, makeClaim(lock))
  }
})

test('a pool that is ended when a run has ended still carries its release', async () => {
  for (let round = 0; round < 3; round += 1) {
    const pool = createPool({ uri: mysql.url, connectionLimit: 2 })
    const locks = createLocks(mysqlStore({ pool }), { awaitRelease: false })
    await loop(locks, 'ended pool', 1 + round)
    await pool.promise().end()
  }
  const other = createLocks(openMysql().store)
  expect((await other.mutex('ended pool').inspect()).holders).toEqual([])
})

test('a schema of PostgreSQL without the function for both is used without it', async () => {
  const text = postgresSchema('earlier')
  postgres.psql(text)
  postgres.psql(
    `do $$ declare f text; begin
       select p.oid::regprocedure::text into f from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname = 'earlier' and p.proname = 'apply_retake_v1';
       execute 'drop function ' || f; end $$`,
  )
  const pool = new Pool({ connectionString: postgres.url, max: 2 })
  after(() => pool.end())
  let statements = 0
  pool.on('connect', (client) => watch(client, 'query', () => (statements += 1)))
  const locks = createLocks(closing(postgresStore({ pool, schema: 'earlier' })), {
    awaitRelease: false,
  })
  expect(grows(await loop(locks, 'a', 10))).toBe(true)
  // The first attempt, and one that the database refused.
  expect(statements).toBe(11)
})

test('on PostgreSQL a release is on the disk before its answer, also when the attempt is refused', async () => {
  const { store } = openPostgres()
  await take(store, makeClaim('disk'))
  const terms = "'next', '{}', 'mutex', 1, 1, 1, 30000, false, 1000, 'none'"
  const text = `begin; select holdfast.apply_retake_v1('disk', 'ended', 30000, ${terms}); show synchronous_commit; commit`
  const [, answers, setting] = postgres.psql(text).split('\n')
  expect(answers).toMatch(/"absent".*"mismatch"/)
  expect(setting).toBe('on')
})
