/** Transactions of `mysql2`. */
import { LockUsageError } from '../../errors.js'
import { checkHandle, type SqlSession, type TransactionalDatabase } from '../database.js'
import { checkNoOptions } from '../../options/known-keys.js'
import { checkedTransactions } from '../open-transaction.js'
import {
  IN_TRANSACTION,
  lendOutsideTransaction,
  statusOf,
} from '../../stores/mysql/connection/outside-transaction.js'
import { Access, revocableHandle } from './revocable-handle.js'

/** Makes rows objects of values, for any settings of the pool. The pool's own casts remain. */
const AS_OBJECTS = { rowsAsArray: false, nestTables: false, typeCast: true }

type AsObjects = Partial<typeof AS_OBJECTS>

/** A connection of `mysql2/promise`, after START TRANSACTION. */
export interface MysqlTransaction {
  query(statement: { sql: string } & AsObjects): Promise<[unknown, unknown]>
  execute(statement: { sql: string; values: never[] } & AsObjects): Promise<[unknown, unknown]>
}

/** As much of a pool of `mysql2/promise` as is used. `C` is its connection. */
export interface MysqlTransactionPool<C extends MysqlTransaction> {
  getConnection(): Promise<C & { release(): void; destroy(): void }>
}

/** What would take the connection out of the transaction's hands. */
const KEPT = ['release', 'destroy', 'end']

/** Transactions through a pool of `mysql2/promise`. */
export function mysqlTransactions<C extends MysqlTransaction>(
  pool: MysqlTransactionPool<C>,
): TransactionalDatabase<C>
export function mysqlTransactions<C extends MysqlTransaction>(
  pool: MysqlTransactionPool<C>,
  extra?: unknown,
): TransactionalDatabase<C> {
  checkNoOptions('mysqlTransactions', extra)
  checkHandle(pool, 'A pool of mysql2', 'getConnection')
  return checkedTransactions<C>({
    dialect: 'mysql',
    async transaction(work) {
      const connection = await lendOutsideTransaction(promised(pool))
      const access = new Access()
      let broken = true
      try {
        await connection.query({ sql: 'start transaction' })
        try {
          const result = await work(revocableHandle(connection, access, KEPT))
          access.end()
          await connection.query({ sql: 'commit' })
          broken = false
          return result
        } catch (error) {
          access.end()
          await connection.query({ sql: 'rollback' }).then(() => (broken = false), noted)
          throw error
        }
      } finally {
        if (broken) connection.destroy()
        else connection.release()
      }
    },
    query: (tx, sql, values) => mysqlSession(tx).query(sql, values),
  })
}

/** A pool that takes callbacks has one of promises in it. */
function promised<C extends MysqlTransaction>(
  pool: MysqlTransactionPool<C>,
): MysqlTransactionPool<C> {
  const { promise } = pool as { promise?: () => MysqlTransactionPool<C> }
  return typeof promise === 'function' ? promise.call(pool) : pool
}

const AUTOCOMMIT = 2

/**
 * Without one each statement would be a transaction, and a lock end with the statement that took
 * it.
 */
async function checkBegun(tx: MysqlTransaction): Promise<void> {
  const status = await statusOf(tx)
  if (status === undefined) return
  if ((status & IN_TRANSACTION) !== 0 || (status & AUTOCOMMIT) === 0) return
  throw new LockUsageError(
    'This connection is in no transaction, so that a lock would end with the statement that takes it. Begin one first, ' +
      'or let mysqlTransactions(pool).transaction do so.',
  )
}

export function mysqlSession(tx: MysqlTransaction): SqlSession {
  return {
    dialect: 'mysql',
    identity:
      'connection' in tx && typeof tx.connection === 'object' && tx.connection ? tx.connection : tx,
    checkBegun: () => checkBegun(tx),
    async query(sql, values) {
      // Not every statement can be prepared, and one without values need not be.
      const [rows] =
        values.length === 0
          ? await tx.query({ sql, ...AS_OBJECTS })
          : await tx.execute({ sql, values: [...values] as never[], ...AS_OBJECTS })
      return rowsOf(rows)
    },
  }
}

/** Returns the rows. The answer to a statement without rows is a header. */
export function rowsOf(rows: unknown): readonly unknown[] {
  return Array.isArray(rows) ? rows : []
}

/** A connection that cannot roll back is broken, which its end does as well. */
function noted(): void {}
