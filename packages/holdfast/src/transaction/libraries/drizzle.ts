/** Transactions of Drizzle, over `pg`, `postgres` and `mysql2`. */
import {
  checkHandle,
  checkDialect,
  refuseTransaction,
  type Dialect,
  type SqlSession,
  type TransactionalDatabase,
} from '../database.js'
import { checkNoOptions } from '../../options/known-keys.js'
import { checkedTransactions } from '../open-transaction.js'
import { hearBreaks } from './pg.js'
import { runUntilTransactionEnds } from './run-until-transaction-ends.js'

/** What `db.transaction` gives to its callback. */
export interface DrizzleTransaction {
  execute(query: never): PromiseLike<unknown>
  rollback(): never
}

/** Not in the type above, from which the library's own could not be inferred any more. */
interface WithNested {
  transaction<T>(work: (tx: DrizzleTransaction) => Promise<T>): Promise<T>
}

/** As much of a Drizzle database as is used. */
export interface DrizzleDatabase<Tx extends DrizzleTransaction> {
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** The client or the pool of the driver below. */
  readonly $client?: unknown
}

/** Transactions through a database of Drizzle. */
export function drizzleTransactions<Tx extends DrizzleTransaction>(
  db: DrizzleDatabase<Tx>,
): TransactionalDatabase<Tx>
export function drizzleTransactions<Tx extends DrizzleTransaction>(
  db: DrizzleDatabase<Tx>,
  extra?: unknown,
): TransactionalDatabase<Tx> {
  checkNoOptions('drizzleTransactions', extra)
  checkHandle(db, 'A database of Drizzle', 'transaction')
  const dialect = drizzleDialect(db)
  refuseTransaction('rollback' in db, 'Drizzle')
  hearBreaks(db.$client)
  return checkedTransactions({
    dialect,
    // Below it may be `postgres`.
    transaction: (work) => runUntilTransactionEnds((boxed) => db.transaction(boxed), work),
    query: async (tx, sql, values) => drizzleSession(tx).query(sql, values),
  })
}

export function drizzleSession(tx: DrizzleTransaction): SqlSession {
  return {
    dialect: drizzleDialect(tx),
    query: async (sql, values) => rowsOf(await tx.execute(written(sql, values) as never)),
    savepoint: (work) =>
      runUntilTransactionEnds(
        (boxed) => (tx as never as WithNested).transaction(boxed),
        (nested: DrizzleTransaction) => work(drizzleSession(nested)),
        tx,
      ),
  }
}

/** Whether it is a database or a transaction of Drizzle. */
export function isDrizzle(tx: object): boolean {
  return kindsOf(tx).length > 0
}

/**
 * As much of Drizzle's `SQL` as `execute` asks for: a text that is written already, with the values
 * in it.
 */
function written(sql: string, params: readonly unknown[]): object {
  const query = { toQuery: () => ({ sql, params: [...params], typings: params.map(() => 'none') }) }
  return { ...query, getSQL: () => query }
}

/** What the driver answers is passed on as it is. */
function rowsOf(answer: unknown): readonly unknown[] {
  if (typeof answer === 'object' && answer !== null && 'rows' in answer)
    return answer.rows as unknown[]
  if (!Array.isArray(answer)) return []
  // mysql2: rows, or a header instead of them, and a description of the columns.
  if (answer.length === 2 && !isRow(answer[1])) return Array.isArray(answer[0]) ? answer[0] : []
  return answer as unknown[]
}

function isRow(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const KIND = Symbol.for('drizzle:entityKind')

/** Drizzle's own marks of what something is, from the class itself to its ancestors. */
function kindsOf(value: object): string[] {
  const kinds: string[] = []
  let type: unknown = (value as { constructor?: unknown }).constructor
  while (typeof type === 'function') {
    if (KIND in type) kinds.push(String(type[KIND]))
    type = Object.getPrototypeOf(type)
  }
  return kinds
}

export function drizzleDialect(db: object): Dialect {
  const kinds = kindsOf(db)
  const is = (start: string): boolean => kinds.some((kind) => kind.startsWith(start))
  return checkDialect(is('MySql') ? 'mysql' : is('Pg') ? 'postgres' : undefined, 'Drizzle')
}
