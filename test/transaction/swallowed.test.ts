/**
 * A transaction that the server rolled back under the work is never reported as committed, through
 * any library.
 */
import { createLocks, type Locks } from 'holdfast'
import {
  lockRow,
  mysqlTransactions,
  optimistic,
  tryLockRow,
  type SqlTransaction,
  type TransactionalDatabase,
} from 'holdfast/transaction'
import { createPool, type PoolConnection } from 'mysql2/promise'
import { startMysql } from '@holdfast/servers/mysql'
import { afterAll, describe, expect, test } from 'vitest'
import { adapterKits } from './adapters.js'
import { mysqlKits, postgresKits } from './kits.js'

type Db = TransactionalDatabase<SqlTransaction>

const kits = [
  ...(await postgresKits()),
  ...(await mysqlKits({ byHand: true })),
  ...(await adapterKits()),
]
const open: Locks[] = []

afterAll(async () => {
  for (const locks of open) await locks.close({ graceMs: 0 })
  for (const kit of kits.toReversed()) await kit.end()
})

interface Account {
  readonly id: number
  readonly amount: number
  readonly version: number
}

describe.each(kits)('through $name', async (kit) => {
  const { db, store } = await kit.client()
  const mysql = db.dialect === 'mysql'
  const [accounts, audit] = [`accounts_${kit.name}`, `audit_${kit.name}`]
  const account = { table: accounts, key: { id: 1 } }
  const ask = (sql: string): Promise<readonly unknown[]> =>
    db.transaction((tx) => db.query(tx, sql, []))
  const note = (on: Db, tx: SqlTransaction, what: string): Promise<unknown> =>
    on.query(tx, `insert into ${audit} values ('${what}')`, [])
  const notes = async (): Promise<unknown[]> => {
    const rows = await ask(`select what from ${audit} where what <> 'ballast'`)
    return rows.map((row) => (row as { what: unknown }).what)
  }
  const other = (await kit.client()).db

  /**
   * The server rolls the transaction back for a deadlock, and the work continues as if nothing had
   * happened.
   */
  async function swallowDeadlock(tx: SqlTransaction): Promise<void> {
    await note(db, tx, 'before')
    await db.query(tx, `update ${accounts} set amount = amount where id = 2`, [])
    await other.transaction(async (rival) => {
      // The server ends the transaction that has written less.
      for (let count = 0; count < 50; count += 1) await note(other, rival, 'ballast')
      await other.query(rival, `update ${accounts} set amount = amount where id = 3`, [])
      const crossing = other.query(rival, `update ${accounts} set amount = amount where id = 2`, [])
      const swallowed = await db
        .query(tx, `update ${accounts} set amount = amount where id = 3`, [])
        .then(
          () => undefined,
          (error: unknown) => error,
        )
      expect(swallowed).toBeInstanceOf(Error)
      await crossing
    })
    await note(db, tx, 'after')
  }

  /** PostgreSQL does nothing more in a transaction of which a statement has failed. */
  async function swallowFailure(tx: SqlTransaction): Promise<void> {
    await note(db, tx, 'before')
    await db.query(tx, 'select * from nowhere', []).catch(() => undefined)
  }

  const swallow = mysql ? swallowDeadlock : swallowFailure
  const ended = { code: 'LOCK_USAGE', message: expect.stringContaining('rolled') as string }
  const stays = mysql ? ['after'] : []

  async function restore(): Promise<void> {
    await ask(`delete from ${accounts}`)
    await ask(`delete from ${audit}`)
    await ask(`insert into ${accounts} values (1, 100, 0), (2, 100, 0), (3, 100, 0)`)
  }

  test('optimistic rejects, does not try again, and does not write the row', async () => {
    kit.sql(
      `create table ${accounts} (id int primary key, amount int not null, version int not null)`,
    )
    kit.sql(`create table ${audit} (what varchar(40))`)
    await restore()
    let runs = 0
    const changing = optimistic<Account, SqlTransaction>(db, account, async ({ amount }, tx) => {
      runs += 1
      await swallow(tx)
      return { amount: amount - 10 }
    })
    const error: unknown = await changing.catch((reason: unknown) => reason)
    if (mysql) expect(error).toMatchObject(ended)
    else expect(error).toBeInstanceOf(Error)
    expect(runs).toBe(1)
    expect(await ask(`select * from ${accounts} where id = 1`)).toEqual([
      { id: 1, amount: 100, version: 0 },
    ])
    // Later statements are in no transaction, so MySQL commits them at once. The error reports it.
    expect(await notes()).toEqual(stays)
    if (mysql) expect((error as Error).message).toContain('stays written')
  })

  test('optimistic rejects also where the change then leaves the row as it is', async () => {
    await restore()
    const changing = optimistic<Account, SqlTransaction>(db, account, async (_row, tx) => {
      await swallow(tx)
      return undefined
    })
    await expect(changing).rejects.toMatchObject(ended)
    expect(await notes()).toEqual(stays)
  })

  // A database of the caller's own is checked where Holdfast begins the transaction.
  test.skipIf(kit.name === 'by_hand')('the transaction itself rejects', async () => {
    await restore()
    // The library of PostgreSQL that reports the failed statement itself.
    const expected =
      kit.name === 'postgres' ? { message: expect.stringContaining('nowhere') as string } : ended
    await expect(db.transaction(swallow)).rejects.toMatchObject(expected)
    expect(await notes()).toEqual(stays)
  })

  test('locks.transaction rejects', async () => {
    await restore()
    const locks = createLocks(store)
    open.push(locks)
    await expect(locks.transaction(locks.mutex(kit.name), db, swallow)).rejects.toMatchObject(ended)
    expect(await notes()).toEqual(stays)
  })
})

describe('on a server that rolls back the whole transaction for a wait that timed out', async () => {
  const server = await startMysql({ flags: ['--innodb-rollback-on-timeout=ON'] })
  const pool = createPool({ uri: server.url, connectionLimit: 3 })
  const db = mysqlTransactions(pool)
  const seat = { table: 'seats', key: { id: 1 } }
  const count = (): string => server.sql('select count(*) from written')
  server.sql(
    'create table seats (id int primary key); create table written (n int); insert into seats values (1)',
  )
  afterAll(async () => {
    await pool.end()
    await server.remove()
  })

  /** Locks the row in one transaction, and then plays `work` in another one. */
  const beside = (work: (tx: PoolConnection) => Promise<unknown>): Promise<unknown> =>
    db.transaction(async (holder) => {
      await lockRow(holder, seat)
      return db.transaction(async (tx) => {
        await tx.query('insert into written values (1)')
        return work(tx)
      })
    })

  // MariaDB takes NOWAIT for a wait of no time, which timed out. MySQL has an error of its own for
  // it, and rolls nothing back.
  const nowait = [
    {
      name: 'lockRow without a wait',
      ask: (tx: PoolConnection) => lockRow(tx, seat, { waitMs: 0 }),
    },
    { name: 'tryLockRow', ask: (tx: PoolConnection) => tryLockRow(tx, seat) },
  ]
  test.each([
    { name: 'lockRow', ask: (tx: PoolConnection) => lockRow(tx, seat, { waitMs: 1000 }) },
    ...(server.product === 'MySQL' ? [] : nowait),
  ])('$name rejects, and a transaction that swallows that rejects too', async ({ ask }) => {
    const said = {
      code: 'LOCK_TIMEOUT',
      message: expect.stringContaining('rolled this transaction back') as string,
    }
    await expect(beside(ask)).rejects.toMatchObject(said)
    const swallowing = beside((tx) => ask(tx).catch(() => undefined))
    await expect(swallowing).rejects.toMatchObject({ code: 'LOCK_USAGE' })
    expect(count()).toBe('0')
  })

  if (server.product === 'MySQL') {
    test.each(nowait)('$name leaves the transaction as it is', async ({ ask }) => {
      await beside((tx) => ask(tx).catch(() => undefined))
      expect(count()).toBe('1')
      server.sql('delete from written')
    })
  }
})
