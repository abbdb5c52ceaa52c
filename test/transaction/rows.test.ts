/** Locks that live as long as the caller's own transaction, through every driver. */
import {
  advisoryKey,
  advisoryLock,
  createRow,
  lockRow,
  tryAdvisoryLock,
  tryLockRow,
} from 'holdfast/transaction'
import type { SqlTransaction } from 'holdfast/transaction'
import { afterAll, describe, expect, test } from 'vitest'
import { mysqlKits, postgresKits } from './kits.js'

const kits = [...(await postgresKits()), ...(await mysqlKits())]

afterAll(async () => {
  for (const kit of kits.toReversed()) await kit.end()
})

/** A transaction that has begun, and stays open until the test ends it. */
interface Open {
  readonly tx: SqlTransaction
  commit(): Promise<void>
}

describe.each(kits)('through $name', (kit) => {
  const { db } = kit.client()
  const { db: other } = kit.client()
  const mysql = db.dialect === 'mysql'
  const ask = (sql: string): Promise<readonly unknown[]> =>
    db.transaction((tx) => db.query(tx, sql, []))
  const table = `seats_${kit.name}`
  const seat = (id: number) => ({ table, key: { id } })

  const quoted = (text: string): string =>
    mysql ? `\`${text.replaceAll('`', '``')}\`` : `"${text.replaceAll('"', '""')}"`

  async function begin(): Promise<Open> {
    const end = new AbortController()
    let done: Promise<unknown> = Promise.resolve()
    const tx = await new Promise<SqlTransaction>((resolve, reject) => {
      done = db.transaction(async (begun) => {
        resolve(begun)
        await new Promise((ended) => end.signal.addEventListener('abort', ended))
      })
      done.catch(reject)
    })
    return {
      tx,
      async commit() {
        end.abort()
        await done
      },
    }
  }

  const busy = (id: number): Promise<boolean> =>
    other.transaction(async (tx) => (await tryLockRow(tx, seat(id))) === undefined)

  test('locks one row, until the commit', async () => {
    kit.sql(
      `create table ${table} (id int primary key, code varchar(20) unique, place varchar(20), amount int)${mysql ? ' engine=InnoDB' : ''}`,
    )
    await ask(`insert into ${table} values (1, 'a', 'x', 5), (2, 'b', 'x', 6), (3, 'c', 'y', 7)`)
    const open = await begin()
    expect(await lockRow(open.tx, seat(1))).toMatchObject({ id: 1, code: 'a', amount: 5 })
    expect(await busy(1)).toBe(true)
    expect(await busy(2)).toBe(false)
    await open.commit()
    expect(await busy(1)).toBe(false)
  })

  test('until the rollback', async () => {
    const failing = db.transaction(async (tx) => {
      await lockRow(tx, seat(1))
      throw new Error('undone')
    })
    await expect(failing).rejects.toThrow('undone')
    expect(await busy(1)).toBe(false)
  })

  test('waits for its turn, and then sees what the one before has committed', async () => {
    const first = await begin()
    await lockRow(first.tx, seat(1))
    const second = other.transaction(async (tx) => {
      const row = await lockRow<{ amount: number }>(tx, seat(1), { waitMs: 10_000 })
      const [read] = await other.query(tx, `select amount from ${table} where id = 1`, [])
      return [row.amount, (read as { amount: number }).amount]
    })
    await db.query(first.tx, `update ${table} set amount = 4 where id = 1`, [])
    await first.commit()
    expect(await second).toEqual([4, 4])
  })

  test.each([0, 300])('gives up after %s ms, and the transaction continues', async (waitMs) => {
    const first = await begin()
    await lockRow(first.tx, seat(1))
    await other.transaction(async (tx) => {
      await other.query(tx, `update ${table} set amount = amount + 1 where id = 2`, [])
      const error: unknown = await lockRow(tx, seat(1), { waitMs }).catch(
        (reason: unknown) => reason,
      )
      expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', waitMs, lock: `${table} (id = 1)` })
      expect(await tryLockRow(tx, seat(1))).toBeUndefined()
      expect(await tryLockRow(tx, seat(3))).toMatchObject({ id: 3 })
    })
    await first.commit()
    expect(await ask(`select amount from ${table} where id = 2`)).toEqual([
      { amount: waitMs === 0 ? 7 : 8 },
    ])
  })

  test('the limit of a wait does not outlast it', async () => {
    const limit = mysql
      ? 'select @@innodb_lock_wait_timeout as n'
      : `select current_setting('lock_timeout') as n`
    await db.transaction(async (tx) => {
      const before = await db.query(tx, limit, [])
      await lockRow(tx, seat(1), { waitMs: 2000 })
      expect(await db.query(tx, limit, [])).toEqual(before)
    })
  })

  test('side by side in one transaction they take turns, and none undoes another one', async () => {
    const limit = mysql
      ? 'select @@innodb_lock_wait_timeout as n, @@lock_wait_timeout as m'
      : `select current_setting('lock_timeout') as n`
    const first = await begin()
    await lockRow(first.tx, seat(2))
    const second = await begin()
    const before = await db.query(second.tx, limit, [])
    const [one, two] = await Promise.allSettled([
      lockRow(second.tx, seat(1), { waitMs: 1500 }),
      lockRow(second.tx, seat(2), { waitMs: 200 }),
    ])
    expect([one.status, two.status]).toEqual(['fulfilled', 'rejected'])
    expect(await busy(1)).toBe(true)
    expect(await db.query(second.tx, limit, [])).toEqual(before)
    await second.commit()
    await first.commit()
  })

  test('a wait for a table that another session has locked as a whole times out, too', async () => {
    const whole = await begin()
    const lock = mysql
      ? `lock tables ${table} write`
      : `lock table ${table} in access exclusive mode`
    await db.query(whole.tx, lock, [])
    try {
      await other.transaction(async (tx) => {
        const waiting = lockRow(tx, seat(1), { waitMs: 500, create: { db: other } })
        expect(await waiting.catch((reason: unknown) => reason)).toMatchObject({
          code: 'LOCK_TIMEOUT',
        })
      })
    } finally {
      if (mysql) await db.query(whole.tx, 'unlock tables', [])
      // MySQL commits for LOCK TABLES.
      if (mysql) await expect(whole.commit()).rejects.toMatchObject({ code: 'LOCK_USAGE' })
      else await whole.commit()
    }
  })

  test("a wait that the server's own limit ended rejects with LOCK_TIMEOUT", async () => {
    const limit = mysql ? 'set innodb_lock_wait_timeout = 1' : "set local lock_timeout = '50ms'"
    const first = await begin()
    await lockRow(first.tx, seat(1))
    const { db: limited } = kit.client()
    const waiting = limited.transaction(async (tx) => {
      await limited.query(tx, limit, [])
      await lockRow(tx, seat(1))
    })
    const error: unknown = await waiting.catch((reason: unknown) => reason)
    await first.commit()
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', waitMs: Infinity })
    expect(String(error)).toMatch(/when the server's own limit came\..* Raise that limit/)
  })

  test('by any unique key, and by more columns than it has', async () => {
    const open = await begin()
    expect(await lockRow(open.tx, { table, key: { code: 'b' } })).toMatchObject({ id: 2 })
    expect(await lockRow(open.tx, { table, key: { id: 3, place: 'y' } })).toMatchObject({ id: 3 })
    expect(await Promise.all([1, 2, 3].map(busy))).toEqual([false, true, true])
    await open.commit()
  })

  test('refuses columns without a unique index, before anything is locked', async () => {
    const open = await begin()
    const refused: unknown = await lockRow(open.tx, { table, key: { place: 'y' } }).catch(
      (error: unknown) => error,
    )
    expect(refused).toMatchObject({ code: 'LOCK_USAGE' })
    expect(String(refused)).toContain('create unique index')
    expect(await Promise.all([1, 2, 3].map(busy))).toEqual([false, false, false])
    await open.commit()
  })

  test('refuses what cannot be a row', async () => {
    const open = await begin()
    for (const key of [{}, { id: null }, { id: undefined }, { id: NaN }]) {
      await expect(lockRow(open.tx, { table, key })).rejects.toMatchObject({ code: 'LOCK_USAGE' })
    }
    await expect(lockRow(open.tx, { table: 'nowhere', key: { id: 1 } })).rejects.toThrow(
      'There is no table',
    )
    await expect(
      lockRow(open.tx, { table: `x"; drop table ${table}`, key: { id: 1 } }),
    ).rejects.toThrow('There is no table')
    await expect(lockRow(open.tx, seat(99))).rejects.toThrow('There is no row')
    await expect(tryLockRow(open.tx, seat(99))).rejects.toThrow('There is no row')
    await expect(lockRow(open.tx, seat(1), { waitMs: -1 })).rejects.toMatchObject({
      code: 'LOCK_USAGE',
    })
    await expect(lockRow({} as never, seat(1))).rejects.toThrow('A transaction is needed')
    await open.commit()
  })

  test('hostile names and values are only names and values', async () => {
    const [name, column] = [`"it's"; \`hostile\` ${kit.name}`, 'a"b`c']
    kit.sql(`create table ${quoted(name)} (${quoted(column)} varchar(100) primary key, n int)`)
    const row = { table: name, key: { [column]: `' or 1=1 -- \\` } }
    await createRow(row, { db, values: { n: 7 } })
    expect(await db.transaction((tx) => lockRow(tx, row))).toEqual({ ...row.key, n: 7 })
  })

  test('a row that cannot be created in time rejects, and the transaction continues', async () => {
    // As where each connection of a pool is taken by a transaction that wants one more.
    const none = { ...db, transaction: () => new Promise<never>(() => undefined) }
    await other.transaction(async (tx) => {
      const locking = lockRow(tx, seat(77), { waitMs: 100, create: { db: none } })
      expect(await locking.catch((reason: unknown) => reason)).toMatchObject({
        code: 'LOCK_TIMEOUT',
        waitMs: 100,
      })
      expect(await tryLockRow(tx, seat(3))).toMatchObject({ id: 3 })
    })
  })

  test('a missing row is made by one of several whose databases read of one moment', async () => {
    const level = mysql ? [] : ['set transaction isolation level repeatable read']
    const strict: typeof db = {
      ...db,
      transaction: (work) =>
        db.transaction(async (tx) => {
          for (const sql of level) await db.query(tx, sql, [])
          return work(tx)
        }),
    }
    for (let id = 900; id < 905; id += 1) {
      await Promise.all([1, 2, 3].map(() => createRow(seat(id), { db: strict })))
      expect(await ask(`select id from ${table} where id = ${id}`)).toEqual([{ id }])
    }
  })

  test('a missing row is created once, for any order of callers', async () => {
    const clients = Array.from({ length: 3 }, () => kit.client().db)
    const row = seat(50)
    const added = clients.flatMap((client) =>
      [1, 2].map(() =>
        client.transaction(async (tx) => {
          const { amount } = await lockRow<{ amount: number }>(tx, row, {
            create: { db: client, values: { amount: 10, code: null } },
          })
          await client.query(tx, `update ${table} set amount = ${amount + 1} where id = 50`, [])
        }),
      ),
    )
    await Promise.all(added)
    expect(await ask(`select amount from ${table} where id = 50`)).toEqual([{ amount: 16 }])
  })

  if (!mysql) {
    test("a wait for a name that the server's own limit ended rejects with LOCK_TIMEOUT", async () => {
      const first = await begin()
      await advisoryLock(first.tx, 'limited')
      const waiting = other.transaction(async (tx) => {
        await other.query(tx, "set local lock_timeout = '50ms'", [])
        await advisoryLock(tx, 'limited')
      })
      const error: unknown = await waiting.catch((reason: unknown) => reason)
      await first.commit()
      expect(String(error)).toContain("when the server's own limit came")
    })

    test('a row that is there needs no other connection to be made', async () => {
      // As where each connection of a pool is taken by a transaction that wants one more.
      const create = { db: { ...db, transaction: () => new Promise<never>(() => undefined) } }
      const open = await begin()
      expect(await lockRow(open.tx, seat(1), { create })).toMatchObject({ id: 1 })
      expect(await tryLockRow(open.tx, seat(2), { create })).toMatchObject({ id: 2 })
      await other.transaction(async (tx) => {
        expect(await tryLockRow(tx, seat(1), { create })).toBeUndefined()
        await expect(lockRow(tx, seat(1), { create, waitMs: 0 })).rejects.toMatchObject({
          code: 'LOCK_TIMEOUT',
        })
      })
      await open.commit()
      const refused = db.transaction((tx) => lockRow(tx, seat(1), { create: { db: {} as never } }))
      await expect(refused).rejects.toThrow('A database is needed')
    })

    test.each(['repeatable read', 'serializable'])(
      'of %s a transaction sees what is made for it',
      async (level) => {
        // A connection of its own, on which no table was looked at before.
        const { db: strict } = kit.client()
        const id = level === 'serializable' ? 910 : 920
        const locking = (
          row: ReturnType<typeof seat>,
          first: string[],
          lock: typeof lockRow | typeof tryLockRow,
        ) =>
          strict.transaction(async (tx) => {
            for (const sql of [`set transaction isolation level ${level}`, ...first])
              await strict.query(tx, sql, [])
            return lock(tx, row, { create: { db } })
          })
        expect(await locking(seat(id), [], lockRow)).toMatchObject({ id })
        expect(await locking(seat(id + 1), [], tryLockRow)).toMatchObject({ id: id + 1 })
        const late = locking(seat(id + 2), ['select 1'], lockRow)
        await expect(late).rejects.toThrow('after the moment of which the transaction reads')
        const flawed = locking({ table, key: { place: 'z' } } as never, [], lockRow)
        await expect(flawed).rejects.toThrow('create unique index')
        expect(await ask(`select id from ${table} where place = 'z'`)).toEqual([])
      },
    )
  }

  if (mysql) {
    test('where each read is a lock, a row that another session has is not waited for to be created', async () => {
      const [before] = (await ask('select @@global.innodb_lock_wait_timeout as seconds')) as [
        { seconds: number },
      ]
      await ask('set global transaction isolation level serializable')
      await ask('set global innodb_lock_wait_timeout = 2')
      try {
        const [{ db: strict }, { db: rival }] = [kit.client(), kit.client()]
        for (const id of [1, 60]) {
          // The first lock also says of which moment the transaction reads, before which the other
          // row must be there.
          await strict.transaction(async (tx) => {
            expect(await lockRow(tx, seat(id), { create: { db: strict } })).toMatchObject({ id })
            expect(await lockRow(tx, seat(id), { create: { db: strict } })).toMatchObject({ id })
            const trying = rival.transaction((its) =>
              tryLockRow(its, seat(id), { create: { db: rival } }),
            )
            expect(await trying).toBeUndefined()
          })
        }
        // All of them miss it at once, and it is made all the same.
        await Promise.all([1, 2, 3].map(() => createRow(seat(61), { db: strict })))
        expect(await ask(`select id from ${table} where id = 61`)).toEqual([{ id: 61 }])
      } finally {
        await ask('set global transaction isolation level repeatable read')
        await ask(`set global innodb_lock_wait_timeout = ${before.seconds}`)
      }
    })

    test('refuses a number for a key of text, for which no index would be used', async () => {
      const open = await begin()
      await expect(lockRow(open.tx, { table, key: { code: 5 } })).rejects.toThrow('whole table')
      await open.commit()
    })

    test('refuses what would be converted to be compared, and takes what is not', async () => {
      kit.sql('create table typed (bytes varbinary(20) unique, number bigint unique) engine=InnoDB')
      await ask(`insert into typed values ('1', 1), ('2', 2)`)
      const taken = [
        { bytes: '1' },
        { bytes: Buffer.from('1') },
        { number: 1 },
        { number: 1n },
        { number: '1' },
      ]
      const refused = [
        { bytes: 1 },
        { bytes: new Date() },
        { number: new Date() },
        { number: Buffer.from('1') },
      ]
      const open = await begin()
      for (const key of taken) await lockRow(open.tx, { table: 'typed', key })
      for (const key of refused) {
        await expect(lockRow(open.tx, { table: 'typed', key })).rejects.toThrow('whole table')
      }
      const beside = other.transaction((tx) =>
        tryLockRow(tx, { table: 'typed', key: { number: 2 } }),
      )
      expect(await beside).toMatchObject({ number: 2 })
      await open.commit()
    })

    test('locks a row for any collation of the connection', async () => {
      const fresh = kit.client().db
      await fresh.transaction(async (tx) => {
        await fresh.query(tx, 'set collation_connection = utf8mb4_general_ci', [])
        expect(await lockRow(tx, seat(1))).toMatchObject({ id: 1 })
        expect(await lockRow(tx, { ...seat(1), table: `app.${table}` })).toMatchObject({ id: 1 })
      })
    })

    test('refuses a table whose rows cannot be locked one by one', async () => {
      kit.sql('create table flat (id int primary key) engine=MyISAM')
      const open = await begin()
      await expect(lockRow(open.tx, { table: 'flat', key: { id: 1 } })).rejects.toThrow('InnoDB')
      await open.commit()
    })

    test('refuses advisory locks', async () => {
      const open = await begin()
      await expect(advisoryLock(open.tx, 'name')).rejects.toMatchObject({ code: 'UNSUPPORTED' })
      await open.commit()
    })
    return
  }

  test('does not believe in an index of some rows, of expressions, or of none', async () => {
    kit.sql(`create table odd_${kit.name} (a int, b int, c text)`)
    kit.sql(`create unique index on odd_${kit.name} (a) where b > 0`)
    kit.sql(`create unique index on odd_${kit.name} (lower(c))`)
    kit.sql(`create index on odd_${kit.name} (b)`)
    kit.sql(`create unique index on odd_${kit.name} (a, b) include (c)`)
    const open = await begin()
    for (const key of [{ a: 1 }, { b: 1 }, { c: 'x' }, { a: 1, c: 'x' }]) {
      const refused = lockRow(open.tx, { table: `odd_${kit.name}`, key })
      await expect(refused).rejects.toThrow('no unique index')
    }
    await expect(
      lockRow(open.tx, { table: `odd_${kit.name}`, key: { a: 1, b: 1 } }),
    ).rejects.toThrow('no row')
    await open.commit()
  })

  test('an advisory lock lasts until the commit, alone or shared', async () => {
    const free = (shared = false): Promise<boolean> =>
      other.transaction((tx) => tryAdvisoryLock(tx, 'order:42', { shared }))
    const open = await begin()
    await advisoryLock(open.tx, 'order:42', { waitMs: 1000 })
    expect([await free(), await free(true)]).toEqual([false, false])
    await other.transaction(async (tx) => {
      for (const waitMs of [0, 100]) {
        const late = advisoryLock(tx, 'order:42', { waitMs })
        await expect(late).rejects.toMatchObject({ code: 'LOCK_TIMEOUT', lock: 'order:42' })
      }
      await advisoryLock(tx, 'another')
    })
    await open.commit()
    const sharing = await begin()
    await advisoryLock(sharing.tx, 'order:42', { shared: true })
    expect([await free(), await free(true)]).toEqual([false, true])
    await sharing.commit()
    expect(await free()).toBe(true)
    // As `select ('x' || left(encode(sha256('order:42'), 'hex'), 16))::bit(64)::bigint` has it.
    const [row] = await ask(
      `select ('x' || left(encode(sha256('order:42'), 'hex'), 16))::bit(64)::bigint::text as key`,
    )
    expect(row).toEqual({ key: advisoryKey('order:42') })
  })
})
