/**
 * Faults of a transaction that a lock covers: nothing is half done, and no caller waits forever.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createLocks, type Locks, type LocksOptions, type TransactionalDatabase } from 'holdfast'
import { mysqlSchema, mysqlStore, mysqlTransactions } from 'holdfast/mysql'
import {
  pgTransactions,
  postgresJsTransactions,
  postgresSchema,
  postgresStore,
} from 'holdfast/postgres'
import { lockRow } from 'holdfast/transaction'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgresJs from 'postgres'
import { afterAll, describe, expect, test } from 'vitest'
import { NEWEST_MYSQL, startMysql } from '@holdfast/servers/mysql'
import { usesNewest } from '@holdfast/servers/newest'
import { startPostgres } from '@holdfast/servers/postgres'
import { Proxy } from '@holdfast/servers/proxy'
import { after } from '../support/after.js'

/** As much of a transaction as the libraries have, or are given here. */
interface Tx {
  query(sql: string): Promise<unknown>
}

interface Client {
  readonly locks: Locks
  readonly db: TransactionalDatabase<Tx>
}

const postgres = await startPostgres()
// A process that is stopped in the middle of a transaction does nothing there, and the server is to
// notice.
const mysql = await startMysql({
  flags: [usesNewest(NEWEST_MYSQL) ? '--wait-timeout=2' : '--idle-transaction-timeout=2'],
})
const table = 'create table writes (n int); create table rivals (id int primary key, n int);'
const rows = 'insert into rivals values (1, 0), (2, 0);'
postgres.psql(postgresSchema())
postgres.psql(table + rows)
mysql.sql(mysqlSchema())
mysql.sql(table + rows)

afterAll(() => Promise.all([postgres.remove(), mysql.remove()]))

function postgresClient(options: LocksOptions, settings = ''): Client {
  const pool = new Pool({ connectionString: postgres.url, max: 3, options: settings })
  pool.on('error', () => undefined)
  after(() => pool.end())
  return { locks: locksOf(postgresStore({ pool }), options), db: pgTransactions(pool) }
}

function postgresJsClient(options: LocksOptions): Client {
  const sql = postgresJs(postgres.url, { max: 3, fetch_types: false, onnotice: () => undefined })
  after(() => sql.end({ timeout: 1 }))
  const known = postgresJsTransactions(sql)
  const db: TransactionalDatabase<never> = {
    ...known,
    transaction: (work) =>
      known.transaction((tx) =>
        work(Object.assign(tx, { query: (text: string) => tx.unsafe(text) }) as never),
      ),
  }
  return { locks: locksOf(postgresStore({ pool: sql }), options), db: db as never as Client['db'] }
}

function mysqlClient(options: LocksOptions): Client {
  const pool = createPool({ uri: mysql.url, connectionLimit: 3 })
  after(() => pool.end())
  const store = mysqlStore({ pool })
  return { locks: locksOf(store, options), db: mysqlTransactions(pool) as never as Client['db'] }
}

function locksOf(store: Parameters<typeof createLocks>[0], options: LocksOptions): Locks {
  const locks = createLocks(store, options)
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

const onPostgres = {
  url: postgres.url,
  ask: (sql: string): string => postgres.psql(sql),
  kill: async () =>
    postgres.psql(
      `select pg_terminate_backend(pid) from pg_stat_activity where state like 'idle in trans%'`,
    ),
  deadlock: '40P01',
}

/** By its own word, since innodb_trx shows a picture of up to 0.1 s ago. */
async function killOnMysql(tx: Tx): Promise<void> {
  const [[session]] = (await tx.query('select connection_id() as id')) as [[{ id: number }]]
  mysql.sql(`kill ${session.id}`)
}

const DATABASES = [
  { name: 'pg', client: postgresClient, ...onPostgres },
  { name: 'postgres', client: postgresJsClient, ...onPostgres },
  {
    name: 'mysql2',
    url: mysql.url,
    client: mysqlClient,
    ask: (sql: string): string => mysql.sql(sql),
    kill: killOnMysql,
    deadlock: 'ER_LOCK_DEADLOCK',
  },
]

describe.each(DATABASES)('through $name', ({ name, url, client, ask, kill, deadlock }) => {
  const writes = (): string => ask('select count(*) from writes')

  test('a connection that is killed: it rolls back and rejects, and never continues on another one', async () => {
    const { locks, db } = client({})
    const before = writes()
    const killed = locks.transaction(locks.mutex('killed'), db, async (tx) => {
      await tx.query('insert into writes values (1)')
      await kill(tx)
      await tx.query('insert into writes values (2)')
    })
    const error: unknown = await killed.catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(Error)
    expect(writes()).toBe(before)
    expect(await (await locks.mutex('killed').acquire({ waitMs: 2000 })).release()).toBe('released')
  })

  test('a commit whose answer is lost: the next one of the same process waits for it, too', async () => {
    const { locks, db } = client({})
    const mutex = locks.mutex('unanswered')
    const read = async (tx: Tx): Promise<string> =>
      JSON.stringify(await tx.query('select count(*) as n from writes'))
    let committed: Promise<unknown> = Promise.resolve()
    const unanswered: TransactionalDatabase<Tx> = {
      ...db,
      // As libraries do when the connection breaks under a COMMIT that the server is still at work
      // on.
      transaction: <T>(work: (tx: Tx) => Promise<T>) =>
        new Promise<T>((_, reject) => {
          committed = db.transaction(async (tx) => {
            await work(tx)
            reject(new Error('read ECONNRESET'))
            await new Promise((resolve) => setTimeout(resolve, 300))
          })
        }),
    }
    const holder = await mutex.acquire()
    const lost = locks.transaction(mutex, unanswered, (tx) =>
      tx.query('insert into writes values (3)'),
    )
    const failure = lost.catch((error: unknown) => error)
    // Several, so that a grant brings tokens for all of them.
    const next = [1, 2].map(() => locks.transaction(mutex, db, read))
    await holder.release()
    expect(await failure).toMatchObject({ message: 'read ECONNRESET' })
    const [first, second] = await Promise.all(next)
    await committed
    const now = await db.transaction(read)
    expect([first, second]).toEqual([now, now])
  })

  test('a commit whose answer is lost together with the lease does not reject as a loss', async () => {
    const { locks, db } = client({ ttlMs: 1500 })
    const { locks: thief } = client({})
    const before = Number(writes())
    const unanswered: TransactionalDatabase<Tx> = {
      ...db,
      async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
        await db.transaction(work)
        await thief.steal('unanswered, stolen', { now: true })
        await lost
        throw new Error('read ECONNRESET')
      },
    }
    let lost: Promise<unknown> = Promise.resolve()
    const heard = locks.transaction(
      locks.mutex('unanswered, stolen'),
      unanswered,
      async (tx, lease) => {
        lost = new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
        await tx.query('insert into writes values (4)')
      },
    )
    await expect(heard).rejects.toThrow('read ECONNRESET')
    expect(Number(writes())).toBe(before + 1)
  })

  test('a session that ends under the work: no other client is granted the lock before the work ends', async () => {
    const [{ locks, db }, other] = [client({}), client({})]
    const before = writes()
    const looks: unknown[] = []
    const ended = locks.transaction(locks.mutex('ended'), db, async (tx) => {
      await tx.query('insert into writes values (1)')
      await kill(tx)
      while (looks.length < 10) {
        await new Promise((resolve) => void setTimeout(resolve, 50))
        looks.push(await other.locks.mutex('ended').tryAcquire())
      }
    })
    await expect(ended).rejects.toThrow()
    expect(looks).toEqual(Array.from({ length: 10 }, () => undefined))
    expect(writes()).toBe(before)
    expect(await (await other.locks.mutex('ended').acquire({ waitMs: 2000 })).release()).toBe(
      'released',
    )
  })

  test('a holder that is stopped in the middle: the next one waits for seconds, and nothing is written', async () => {
    const { locks } = client({})
    const before = writes()
    const worker = fork(fileURLToPath(new URL('workers/stopped.mjs', import.meta.url)), [name, url])
    after(async () => void worker.kill('SIGKILL'))
    const [said] = (await once(worker, 'message')) as [string]
    expect(said).toBe('inside')
    worker.kill('SIGSTOP')
    const lease = await locks.mutex('stopped').acquire({ waitMs: 15_000 })
    expect(writes()).toBe(before)
    const outcome = once(worker, 'message')
    worker.kill('SIGCONT')
    expect(await outcome).toEqual(['ended: LOCK_LOST', undefined])
    expect(lease.held).toBe(true)
    expect(writes()).toBe(before)
    await lease.release()
  })

  test('a deadlock rejects with its code, and the lock is free again', async () => {
    const { locks, db } = client({})
    const inside: (() => void)[] = []
    const untilBothAre = (): Promise<void> =>
      new Promise((resolve) => {
        inside.push(resolve)
        if (inside.length === 2) for (const go of inside) go()
      })
    const rival = (first: number, second: number): Promise<void> =>
      locks.transaction(locks.mutex(`rival ${first}`), db, async (tx) => {
        await tx.query(`update rivals set n = n + 1 where id = ${first}`)
        await untilBothAre()
        await tx.query(`update rivals set n = n + 1 where id = ${second}`)
      })
    const outcomes = await Promise.allSettled([rival(1, 2), rival(2, 1)])
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected')
    expect(failed.map(({ reason }) => (reason as { code: unknown }).code)).toEqual([deadlock])
    for (const id of [1, 2]) {
      expect(await (await locks.mutex(`rival ${id}`).acquire({ waitMs: 2000 })).release()).toBe(
        'released',
      )
    }
  })
})

test('a connection that breaks under a wait for a row, through postgres: it rejects, and the process lives', async () => {
  const proxy = await Proxy.to(postgres.port)
  after(() => proxy.close())
  const url = postgres.url.replace(String(postgres.port), String(proxy.port))
  const sql = postgresJs(url, { max: 1, fetch_types: false, onnotice: () => undefined })
  after(() => sql.end({ timeout: 1 }))
  const rival = { table: 'rivals', key: { id: 1 } }
  await postgresClient({}).db.transaction(async (other) => {
    await lockRow(other as never, rival)
    let failure: unknown
    const waiting = postgresJsTransactions(sql).transaction(async (tx) => {
      failure = await lockRow(tx, rival, { waitMs: 20_000 }).catch((error: unknown) => error)
    })
    await expect
      .poll(() => postgres.psql('select count(*) from pg_locks where not granted'), {
        timeout: 5000,
      })
      .toBe('1')
    proxy.reset()
    await expect(waiting).rejects.toThrow()
    await expect.poll(() => failure).toBeInstanceOf(Error)
  })
})

test('a long transaction of a writer that became a reader: no reader who waits ends its session', async () => {
  const [{ locks, db }, other] = [postgresClient({}), postgresClient({})]
  let read = false
  let reading: Promise<unknown> | undefined
  const covered = locks.transaction(locks.readWriteLock('lowered').write, db, async (tx, lease) => {
    await tx.query('insert into writes values (1)')
    reading = other.locks.readWriteLock('lowered').read.run(() => (read = true))
    await lease.downgrade()
    const idle = `select max(extract(epoch from clock_timestamp() - state_change)) from pg_stat_activity`
    const idleS = (): number => Number(postgres.psql(`${idle} where state like 'idle in trans%'`))
    await expect.poll(idleS, { timeout: 15_000, interval: 500 }).toBeGreaterThan(8)
    expect([lease.held, read]).toEqual([true, false])
    return 'committed'
  })
  expect(await covered).toBe('committed')
  await reading
})

// MariaDB 10.11 has no such failures: its transactions read old rows and write new ones.
test('a serialization failure rejects with its code, and the lock is free again', async () => {
  const { locks } = postgresClient({})
  const { db } = postgresClient({}, '-c default_transaction_isolation=repeatable\\ read')
  const failing = locks.transaction(locks.mutex('serial'), db, async (tx) => {
    await tx.query('select * from rivals where id = 1')
    postgres.psql('update rivals set n = n + 1 where id = 1')
    await tx.query('update rivals set n = n + 1 where id = 1')
  })
  await expect(failing).rejects.toMatchObject({ code: '40001' })
  expect(await (await locks.mutex('serial').acquire({ waitMs: 2000 })).release()).toBe('released')
})
