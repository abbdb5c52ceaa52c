/**
 * What is done with a transaction, through every library that stands above a driver, on the real
 * databases.
 */
import { createLocks, type Locks } from 'holdfast'
import { assertFence } from 'holdfast/fence'
import {
  advisoryLock,
  drizzleTransactions,
  knexTransactions,
  kyselyTransactions,
  lockRow,
  optimistic,
  prismaTransactions,
  tryAdvisoryLock,
  tryLockRow,
} from 'holdfast/transaction'
import type { Knex } from 'knex'
import {
  DummyDriver,
  Kysely,
  MssqlAdapter,
  MssqlQueryCompiler,
  MysqlAdapter,
  MysqlQueryCompiler,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteQueryCompiler,
  type DialectAdapter,
  type QueryCompiler,
} from 'kysely'
import type { EntityManager } from 'typeorm'
import { afterAll, describe, expect, test } from 'vitest'
import { adapterKits } from './adapters.js'

const kits = await adapterKits()
const open: Locks[] = []

afterAll(async () => {
  for (const locks of open) await locks.close({ graceMs: 0 })
  for (const kit of kits) await kit.end()
})

/** Those whose transactions have transactions in them, which are savepoints. */
const NESTING: Readonly<Record<string, ((tx: never) => unknown) | undefined>> = {
  drizzle: drizzleTransactions,
  knex: knexTransactions,
  prisma: prismaTransactions,
}

interface Stock {
  readonly id: number
  readonly amount: number
  readonly version: number
}

describe.each(kits)('through $name', async (kit) => {
  const { db, store } = await kit.client()
  const mysql = db.dialect === 'mysql'
  const table = `app_${kit.name}`
  const item = { table, key: { id: 1 } }
  const ask = (sql: string): Promise<readonly unknown[]> =>
    db.transaction((tx) => db.query(tx, sql, []))
  const amount = async (): Promise<number> =>
    ((await ask(`select amount from ${table} where id = 1`))[0] as Stock).amount
  const locks = createLocks(store, { ttlMs: 2000 })
  const other = createLocks((await kit.client()).store)
  open.push(locks, other)

  test('commits what the work did, and rolls back when it fails', async () => {
    kit.sql(`create table ${table} (id int primary key, amount int not null, version int not null)`)
    const place = mysql ? '?, ?, ?' : '$1, $2, $3'
    await db.transaction((tx) => db.query(tx, `insert into ${table} values (${place})`, [1, 10, 0]))
    const lock = locks.mutex(kit.name)
    const result = await locks.transaction(lock, db, async (tx, lease) => {
      await db.query(tx, `update ${table} set amount = amount - 1`, [])
      expect([lease.held, await locks.mutex(kit.name).tryAcquire()]).toEqual([true, undefined])
      return [Promise.resolve(7)]
    })
    expect([await result[0], await amount()]).toEqual([7, 9])
    const failing = locks.transaction(lock, db, async (tx) => {
      await db.query(tx, `update ${table} set amount = amount - 1`, [])
      throw new Error('no stock')
    })
    await expect(failing).rejects.toThrow('no stock')
    expect(await amount()).toBe(9)
  })

  test('no other client is granted the lock before the end, and a stolen lease rolls back', async () => {
    const working = locks.transaction(locks.mutex(kit.name), db, async (tx, lease) => {
      await db.query(tx, `update ${table} set amount = amount - 1`, [])
      await other.steal(kit.name, { now: true })
      expect(await other.mutex(kit.name).tryAcquire()).toBeUndefined()
      await new Promise((aborted) => lease.signal.addEventListener('abort', aborted))
    })
    await expect(working).rejects.toMatchObject({ code: 'LOCK_LOST' })
    expect(await amount()).toBe(9)
    expect(await (await other.mutex(kit.name).acquire({ waitMs: 5000 })).release()).toBe('released')
  })

  test('a transaction that cannot commit does not seem to', async () => {
    const ended = locks.transaction(locks.mutex(kit.name), db, async (tx) => {
      await db.query(tx, `update ${table} set amount = amount - 1`, [])
      // What a failed statement aborts on PostgreSQL, and what CREATE TABLE has committed on
      // MySQL.
      if (mysql) await db.query(tx, `create table side_${kit.name} (n int)`, [])
      else await db.query(tx, 'select * from nowhere', []).catch(() => undefined)
    })
    await expect(ended).rejects.toThrow(mysql ? 'CREATE TABLE' : 'rolled the transaction back')
    if (mysql) await ask(`update ${table} set amount = amount + 1`)
    expect(await amount()).toBe(9)
  })

  if (kit.name.startsWith('knex')) {
    test.each(['commit', 'rollback'] as const)(
      'a %s in the work rejects, after the work',
      async (how) => {
        const looks: unknown[] = []
        const ended = locks.transaction(locks.mutex(kit.name), db, async (tx) => {
          await (tx as Knex.Transaction)[how]()
          while (looks.length < 5) {
            await new Promise((resolve) => void setTimeout(resolve, 50))
            looks.push(await other.mutex(kit.name).tryAcquire())
          }
        })
        await expect(ended).rejects.toMatchObject({ code: 'LOCK_USAGE' })
        expect(looks).toEqual(Array.from({ length: 5 }, () => undefined))
        const uncovered = db.transaction((tx) => (tx as Knex.Transaction)[how]())
        await expect(uncovered).rejects.toMatchObject({ code: 'LOCK_USAGE' })
      },
    )
  }

  const nested = NESTING[kit.name.split('_')[0] ?? '']
  test.runIf(nested)(
    'a transaction instead of a database is refused: its lock would end at a savepoint',
    async () => {
      await db.transaction(async (tx) => {
        await Promise.resolve()
        expect(() => nested?.(tx as never)).toThrow('only a savepoint could begin')
      })
    },
  )

  test.runIf(kit.name.startsWith('typeorm'))(
    'what is in no transaction is refused, for all that it takes queries',
    async () => {
      const source = await db.transaction((tx) => Promise.resolve((tx as EntityManager).dataSource))
      const runner = source.createQueryRunner()
      for (const outside of [source, source.manager, runner]) {
        await expect(lockRow(outside as never, item)).rejects.toThrow(
          'the manager that dataSource.transaction(work) of TypeORM gives',
        )
      }
      await runner.startTransaction()
      expect(await lockRow(runner.manager, item)).toMatchObject({ id: 1 })
      await runner.rollbackTransaction()
      await runner.release()
    },
  )

  test('a fence refuses what comes too late', async () => {
    const early = await locks.mutex(kit.name).acquire()
    await db.transaction((tx) => assertFence(tx, early, kit.name))
    await early.release()
    const late = await locks.mutex(kit.name).acquire()
    await db.transaction((tx) => assertFence(tx, late, kit.name))
    const stale = db.transaction(async (tx) => {
      await db.query(tx, `update ${table} set amount = 0`, [])
      await assertFence(tx, early, kit.name)
    })
    await expect(stale).rejects.toMatchObject({ code: 'STALE_TOKEN' })
    await late.release()
    expect(await amount()).toBe(9)
  })

  test('a fence without its table says how to make it', async () => {
    const lease = await locks.mutex('unmigrated').acquire()
    const elsewhere = { schema: 'nowhere', prefix: 'nowhere_' }
    const fenced = db.transaction((tx) => assertFence(tx, lease, kit.name, elsewhere))
    await expect(fenced).rejects.toMatchObject({
      code: 'STORE_CONFIG',
      message: expect.stringContaining('holdfast migrate') as string,
    })
    await lease.release()
  })

  test('a row is locked until the commit; a caller that gives up continues', async () => {
    await db.transaction(async (tx) => {
      expect(await lockRow(tx, item, { waitMs: 5000 })).toMatchObject({ id: 1, amount: 9 })
      await db.transaction(async (other) => {
        const late: unknown = await lockRow(other, item, { waitMs: 50 }).catch(
          (error: unknown) => error,
        )
        expect(late).toMatchObject({ code: 'LOCK_TIMEOUT' })
        expect(await tryLockRow(other, item)).toBeUndefined()
        await lockRow(
          other,
          { table, key: { id: 2 } },
          { create: { db, values: { amount: 1, version: 0 } } },
        )
        await db.query(other, `update ${table} set amount = 2 where id = 2`, [])
      })
    })
    expect(await ask(`select amount from ${table} where id = 2`)).toEqual([{ amount: 2 }])
    const unindexed = db.transaction((tx) => lockRow(tx, { table, key: { amount: 9 } }))
    await expect(unindexed).rejects.toMatchObject({ code: 'LOCK_USAGE' })
  })

  test('a name may look like the place of a value', async () => {
    const strange = `${table}$1`
    kit.sql(`create table ${strange} (id int primary key, price$2 int, version int not null)`)
    await ask(`insert into ${strange} values (1, 4, 0)`)
    const row = { table: strange, key: { id: 1 } }
    const changed = await optimistic(db, row, () => ({ price$2: 5 }))
    expect(changed).toEqual({ id: 1, price$2: 5, version: 1 })
    expect(await db.transaction((tx) => lockRow(tx, row))).toEqual(changed)
  })

  test('a name is locked until the commit, on PostgreSQL', async () => {
    await db.transaction(async (tx) => {
      if (mysql) {
        await expect(advisoryLock(tx, kit.name)).rejects.toMatchObject({ code: 'UNSUPPORTED' })
        return
      }
      await advisoryLock(tx, kit.name)
      await db.transaction(async (other) => {
        await expect(advisoryLock(other, kit.name, { waitMs: 50 })).rejects.toMatchObject({
          code: 'LOCK_TIMEOUT',
        })
        expect(await tryAdvisoryLock(other, kit.name)).toBe(false)
      })
    })
  })

  test('optimistic changes are all made', async () => {
    const changes = Array.from({ length: 6 }, () =>
      optimistic(db, item, (row: Stock) => ({ amount: row.amount + 1 }), { tries: 100 }),
    )
    await Promise.all(changes)
    expect(await ask(`select amount, version from ${table} where id = 1`)).toEqual([
      { amount: 15, version: 6 },
    ])
  })

  test('what is no transaction is refused', async () => {
    for (const nothing of [db, {}, undefined, 'tx']) {
      await expect(lockRow(nothing as never, item)).rejects.toMatchObject({ code: 'LOCK_USAGE' })
    }
  })
})

test('what takes queries and answers otherwise than pg is no client of it', async () => {
  const database = { query: () => Promise.resolve([]) }
  for (const ask of [advisoryLock, tryAdvisoryLock]) {
    await expect(ask(database as never, 'order:1')).rejects.toMatchObject({ code: 'LOCK_USAGE' })
  }
})

const kyselyOver = (Adapter: new () => DialectAdapter, Compiler: new () => QueryCompiler) =>
  new Kysely<object>({
    dialect: {
      createAdapter: () => new Adapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new Compiler(),
    },
  })

describe('Kysely', () => {
  test('over a database that Holdfast does not know is refused', () => {
    expect(kyselyTransactions(kyselyOver(PostgresAdapter, PostgresQueryCompiler)).dialect).toBe(
      'postgres',
    )
    expect(kyselyTransactions(kyselyOver(MysqlAdapter, MysqlQueryCompiler)).dialect).toBe('mysql')
    for (const strange of [
      kyselyOver(SqliteAdapter, SqliteQueryCompiler),
      kyselyOver(MssqlAdapter, MssqlQueryCompiler),
    ]) {
      expect(() => kyselyTransactions(strange)).toThrow('neither PostgreSQL nor MySQL')
    }
  })
})
