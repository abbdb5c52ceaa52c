/**
 * A hundred items, five hundred buyers, eight processes: not one item too many is sold, and a
 * control sells too many.
 */
import { mysqlSchema } from 'holdfast/mysql'
import { postgresSchema } from 'holdfast/postgres'
import { afterAll, describe, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { runScenario, shopSql, type Outcome, type StrategyName } from './scenario.js'

const SHOP = { items: 100, buyers: 500, processes: 8 }

const postgres = await startPostgres()
const mysql = await startMysql()
postgres.psql(postgresSchema())
mysql.sql(mysqlSchema())

afterAll(() => Promise.all([postgres.remove(), mysql.remove()]))

const DATABASES = [
  { name: 'postgres', url: postgres.url, ask: (sql: string): string => postgres.psql(sql) },
  { name: 'mysql', url: mysql.url, ask: (sql: string): string => mysql.sql(sql) },
]

const MODES: readonly StrategyName[] = ['lease', 'lock on the row', 'advisory lock', 'optimistic']

describe.each(DATABASES)('on $name', ({ name, url, ask }) => {
  const run = async (
    strategy: StrategyName,
  ): Promise<Outcome & { orders: number; stock: number }> => {
    ask(shopSql(SHOP))
    const outcome = await runScenario(url, strategy, SHOP)
    return {
      ...outcome,
      orders: Number(ask('select count(*) from orders')),
      stock: Number(ask('select stock from items')),
    }
  }

  test.each(MODES.filter((mode) => name === 'postgres' || mode !== 'advisory lock'))(
    '%s: exactly as much is sold as there is',
    async (mode) => {
      expect(await run(mode)).toEqual({ sold: 100, refused: 400, orders: 100, stock: 0 })
    },
  )

  test('too much is sold when the lock ends before the commit', async () => {
    const control = await run('released before the commit')
    expect(control.orders).toBeGreaterThan(SHOP.items)
    expect(control.sold).toBe(control.orders)
  })
})

test.skip('mysql, advisory lock: its named locks do not belong to transactions (UnsupportedLockError)', () =>
  undefined)
