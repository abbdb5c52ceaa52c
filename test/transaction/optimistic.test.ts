/** Changes without a lock, through every driver: none is lost, and the tries have a bound. */
import { isLockError } from 'holdfast'
import { optimistic } from 'holdfast/transaction'
import { afterAll, describe, expect, test } from 'vitest'
import { mysqlKits, postgresKits } from './kits.js'

const kits = [...(await postgresKits()), ...(await mysqlKits())]

afterAll(async () => {
  for (const kit of kits.toReversed()) await kit.end()
})

interface Stock {
  readonly id: number
  readonly amount: number
  readonly note: string | null
  readonly version: number
}

describe.each(kits)('through $name', (kit) => {
  const { db } = kit.client()
  const ask = (sql: string): Promise<readonly unknown[]> =>
    db.transaction((tx) => db.query(tx, sql, []))
  const table = `stock_${kit.name}`
  const item = { table, key: { id: 1 } }
  const stored = async (): Promise<Stock> =>
    (await ask(`select * from ${table} where id = 1`))[0] as Stock

  test('writes the change, raises the version, and resolves to the new row', async () => {
    kit.sql(
      `create table ${table} (id int primary key, amount int not null, note text, version int not null)`,
    )
    await ask(`insert into ${table} values (1, 10, null, 7)`)
    const row = await optimistic<Stock>(db, item, ({ amount }) => ({
      amount: amount - 1,
      note: `it's "so"`,
    }))
    expect(row).toEqual({ id: 1, amount: 9, note: `it's "so"`, version: 8 })
    expect(await stored()).toEqual(row)
  })

  test('a change that wants nothing writes nothing', async () => {
    const before = await stored()
    expect(await optimistic<Stock>(db, item, () => undefined)).toEqual(before)
    expect(await stored()).toEqual(before)
  })

  test('a column that is undefined stays as it is', async () => {
    const before = await stored()
    const row = await optimistic<Stock>(db, item, () => ({ amount: 9, note: undefined }) as never)
    expect(row).toEqual({ ...before, version: before.version + 1 })
    expect(await stored()).toEqual(row)
  })

  test('a version comes back as it went in, also where a library gives it as text', async () => {
    const [big, key] = [`big_${kit.name}`, { id: 1 }]
    kit.sql(`create table ${big} (id int primary key, version bigint not null)`)
    await ask(`insert into ${big} values (1, 7)`)
    let before: unknown
    const after = await optimistic<{ version: unknown }>(db, { table: big, key }, (row) => {
      before = row.version
      return {}
    })
    expect(String(after.version)).toBe('8')
    expect(typeof after.version).toBe(typeof before)
    expect(await ask(`select version from ${big}`)).toEqual([{ version: after.version }])
  })

  test('what was changed meanwhile is seen, and the change made again', async () => {
    const { amount, version } = await stored()
    let runs = 0
    const row = await optimistic<Stock>(db, item, async (current) => {
      runs += 1
      if (runs === 1) await optimistic<Stock>(db, item, (inner) => ({ amount: inner.amount + 100 }))
      return { amount: current.amount + 1 }
    })
    expect(runs).toBe(2)
    expect(row).toMatchObject({ amount: amount + 101, version: version + 2 })
  })

  test('what else was written is rolled back with it', async () => {
    kit.sql(`create table log_${kit.name} (n int)`)
    let runs = 0
    await optimistic(db, item, async (current: Stock, tx) => {
      runs += 1
      await db.query(tx, `insert into log_${kit.name} values (${runs})`, [])
      if (runs === 1) await ask(`update ${table} set version = version + 1 where id = 1`)
      return { amount: current.amount }
    })
    expect(await ask(`select n from log_${kit.name}`)).toEqual([{ n: 2 }])
  })

  test('rejects with VERSION_CONFLICT after the given number of tries', async () => {
    const before = await stored()
    let runs = 0
    const failing = optimistic<Stock>(
      db,
      item,
      async () => {
        runs += 1
        await ask(`update ${table} set version = version + 1 where id = 1`)
        return { amount: -1 }
      },
      { tries: 3, backoffMs: 1 },
    )
    const error: unknown = await failing.catch((reason: unknown) => reason)
    expect(isLockError(error)).toBe(true)
    expect(error).toMatchObject({ code: 'VERSION_CONFLICT', tries: 3, lock: `${table} (id = 1)` })
    expect(runs).toBe(3)
    expect((await stored()).amount).toBe(before.amount)
  })

  test('no change of many is lost', async () => {
    const before = await stored()
    const clients = [db, kit.client().db, kit.client().db]
    const changes = clients.flatMap((client) =>
      Array.from({ length: 5 }, () =>
        optimistic<Stock>(client, item, ({ amount }) => ({ amount: amount + 1 }), { tries: 100 }),
      ),
    )
    await Promise.all(changes)
    const after = await stored()
    expect(after.amount - before.amount).toBe(15)
    expect(after.version - before.version).toBe(15)
  })

  test('an abort ends the tries', async () => {
    const controller = new AbortController()
    const endless = optimistic<Stock>(
      db,
      item,
      async () => {
        await ask(`update ${table} set version = version + 1 where id = 1`)
        controller.abort(new Error('enough'))
        return { amount: 0 }
      },
      { backoffMs: 10_000, maxBackoffMs: 10_000, signal: controller.signal },
    )
    await expect(endless).rejects.toThrow('enough')
  })

  test('errors of the change pass, and nothing is written', async () => {
    const before = await stored()
    const failing = optimistic<Stock>(db, item, () => Promise.reject(new Error('no stock')))
    await expect(failing).rejects.toThrow('no stock')
    expect(await stored()).toEqual(before)
  })

  test('refuses a key that several rows have, and changes none of them', async () => {
    await ask(`insert into ${table} values (11, 10, 'twin', 0), (12, 70, 'twin', 0)`)
    const change = ({ amount }: Stock): Partial<Stock> => ({ amount: amount - 1 })
    const changing = optimistic<Stock>(db, { table, key: { note: 'twin' } }, change)
    await expect(changing).rejects.toMatchObject({ code: 'LOCK_USAGE' })
    const twins = await ask(`select amount from ${table} where note = 'twin' order by id`)
    expect(twins).toEqual([{ amount: 10 }, { amount: 70 }])
    // One more that comes between the look and the change.
    await ask(`delete from ${table} where id = 12`)
    const late = optimistic<Stock>(db, { table, key: { note: 'twin' } }, async () => {
      await ask(`insert into ${table} values (12, 70, 'twin', 0)`)
      return { amount: 1 }
    })
    await expect(late).rejects.toMatchObject({ code: 'LOCK_USAGE' })
    const after = await ask(`select amount from ${table} where note = 'twin' order by id`)
    expect(after).toEqual([{ amount: 10 }, { amount: 70 }])
  })

  test('refuses what it cannot work on', async () => {
    const asIs = (row: Stock): Stock => row
    const refused = { code: 'LOCK_USAGE' }
    await expect(optimistic<Stock>(db, { table, key: { id: 99 } }, asIs)).rejects.toThrow(
      'There is no row',
    )
    await expect(optimistic<Stock>(db, { ...item, version: 'note' }, asIs)).rejects.toThrow(
      'alter table',
    )
    await expect(optimistic<Stock>(db, { ...item, version: 'nowhere' }, asIs)).rejects.toThrow(
      'alter table',
    )
    await expect(optimistic<Stock>(db, item, asIs, { tries: 0 })).rejects.toMatchObject(refused)
    await expect(optimistic<Stock>(db, item, asIs, { backoffMs: -1 })).rejects.toMatchObject(
      refused,
    )
    for (const options of [null, 7, { signal: 'stop' }]) {
      await expect(optimistic<Stock>(db, item, asIs, options as never)).rejects.toMatchObject(
        refused,
      )
    }
    for (const change of [undefined, { amount: 1 }]) {
      await expect(optimistic<Stock>(db, item, change as never)).rejects.toThrow('needs a function')
    }
    for (const change of [null, 5, true, 'x', ['x'], new Map(), new Date()]) {
      const changing = optimistic<Stock>(db, item, () => change as never)
      await expect(changing).rejects.toMatchObject(refused)
    }
    await expect(optimistic<Stock>({} as never, item, asIs)).rejects.toThrow('pgTransactions')
  })
})
