/** Transactions of TypeORM, over `pg` and `mysql2`. */
import { LockUsageError } from '../../errors.js'
import {
  checkHandle,
  checkDialect,
  type Dialect,
  type SqlSession,
  type TransactionalDatabase,
} from '../database.js'
import { checkNoOptions } from '../../options/known-keys.js'
import { checkedTransactions } from '../open-transaction.js'

/** The entity manager that `dataSource.transaction` gives to its callback. */
export interface TypeormTransaction {
  /** Called `connection` before TypeORM 1. */
  readonly dataSource?: TypeormOptions
  readonly connection?: TypeormOptions
  readonly queryRunner?: TypeormQueryRunner | undefined
  query(sql: string, values?: never): Promise<unknown>
}

interface TypeormOptions {
  readonly options: { readonly type: string }
}

/** As much of a query runner as is used. */
export interface TypeormQueryRunner {
  readonly isTransactionActive: boolean
  query(sql: string, values: unknown[], structured: true): Promise<{ records: unknown[] }>
}

/** As much of a data source as is used. */
export interface TypeormDatabase<Tx extends TypeormTransaction> extends TypeormOptions {
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
}

/** Transactions through a data source of TypeORM. */
export function typeormTransactions<Tx extends TypeormTransaction>(
  dataSource: TypeormDatabase<Tx>,
): TransactionalDatabase<Tx>
export function typeormTransactions<Tx extends TypeormTransaction>(
  dataSource: TypeormDatabase<Tx>,
  extra?: unknown,
): TransactionalDatabase<Tx> {
  checkNoOptions('typeormTransactions', extra)
  checkHandle(dataSource, 'A data source of TypeORM', 'options')
  return checkedTransactions({
    dialect: dialectOf(dataSource),
    transaction: (work) => dataSource.transaction(work),
    query: async (tx, sql, values) => typeormSession(tx).query(sql, values),
  })
}

/**
 * Returns whether it is a manager, a data source or a query runner, in a transaction or not. The
 * `query` of the last two could be mistaken for that of a client of `pg`.
 */
export function isTypeorm(tx: object): boolean {
  if ('queryRunner' in tx && ('dataSource' in tx || 'connection' in tx)) return true
  return '@instanceof' in tx || 'isTransactionActive' in tx
}

/** @throws LockUsageError outside of a transaction. */
export function typeormSession(tx: TypeormTransaction): SqlSession {
  const runner = tx.queryRunner
  const source = tx.dataSource ?? tx.connection
  if (!source || !runner?.isTransactionActive) {
    throw new LockUsageError(
      'A transaction is needed here: the manager that dataSource.transaction(work) of TypeORM gives to work.',
    )
  }
  return {
    dialect: dialectOf(source),
    identity: source,
    query: async (sql, values) => (await runner.query(sql, [...values], true)).records ?? [],
  }
}

function dialectOf({ options: { type } }: TypeormOptions): Dialect {
  return checkDialect(type === 'mariadb' ? 'mysql' : type, 'TypeORM')
}
