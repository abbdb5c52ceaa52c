/** The shop: one database with stock and orders, as each process and each strategy sees it. */
import type { Lease } from 'holdfast'

export type Value = string | number

/**
 * Statements are written with `?`, on every database. Names and numbers come back
 * as columns.
 */
export interface ShopDatabase {
  query(sql: string, values?: readonly Value[]): Promise<Record<string, unknown>[]>
  /** How many rows a statement changed. */
  change(sql: string, values?: readonly Value[]): Promise<number>
}

export interface Transaction extends ShopDatabase {
  /**
   * Refuses a lease whose token is smaller than one that the shop has seen of that lock: what
   * protects it from a late holder. Tokens of different stores cannot be compared.
   */
  fence(lease: Lease): Promise<void>
}

export interface Shop {
  readonly kind: ShopKind
  /** Each statement is a transaction of its own. */
  readonly direct: ShopDatabase
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export type ShopKind = 'postgres' | 'mysql' | 'sqlite'

export const SHOP_TITLES: Readonly<Record<ShopKind, string>> = {
  postgres: 'PostgreSQL',
  mysql: 'MariaDB',
  sqlite: 'SQLite',
}

export const ITEM = 'book'
/** Another item, which no buyer of the first should ever have to wait for. */
export const OTHER_ITEM = 'pen'

export const TABLES: readonly string[] = [
  'drop table if exists stock',
  'drop table if exists segments',
  'drop table if exists orders',
  'drop table if exists row_locks',
  // The title has no index: looking an item up by it reads the whole table.
  `create table stock (item varchar(40) not null primary key, title varchar(40) not null, amount integer not null,
    version integer not null, token bigint not null)`,
  'create table segments (item varchar(40) not null, segment integer not null, amount integer not null, primary key (item, segment))',
  'create table orders (item varchar(40) not null, buyer integer not null)',
  'create table row_locks (name varchar(40) not null primary key)',
]

/** Empties the shop and puts new stock on its shelves. */
export async function restock({ direct }: Shop, items: number, segments: number): Promise<void> {
  for (const table of TABLES) await direct.change(table)
  for (const [item, title] of [
    [ITEM, 'A book'],
    [OTHER_ITEM, 'A pen'],
  ] as const) {
    await direct.change('insert into stock values (?, ?, ?, 0, 0)', [item, title, items])
  }
  for (let segment = 0; segment < segments; segment += 1) {
    const share = Math.floor(items / segments) + (segment < items % segments ? 1 : 0)
    await direct.change('insert into segments values (?, ?, ?)', [ITEM, segment, share])
  }
}

export interface Audit {
  readonly orders: number
  /** What the stock says is left; below zero when more was taken than there was. */
  readonly left: number
}

/** Counts what was sold, and what the shelves say. */
export async function audit({ direct }: Shop, bySegments: boolean): Promise<Audit> {
  const [sold] = await direct.query('select count(*) as n from orders where item = ?', [ITEM])
  const [left] = await direct.query(
    bySegments
      ? 'select sum(amount) as n from segments where item = ?'
      : 'select amount as n from stock where item = ?',
    [ITEM],
  )
  return { orders: Number(sold?.['n']), left: Number(left?.['n']) }
}
