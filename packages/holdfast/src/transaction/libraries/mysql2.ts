/** Transactions of `mysql2`. */
import type { SqlSession, TransactionalDatabase } from '../database.js'

/** Whatever the pool is set to, rows come as objects of values. A function that casts these is left to do so. */
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

/** Transactions through a pool of `mysql2/promise`. */
export function mysqlTransactions<C extends MysqlTransaction>(
  pool: MysqlTransactionPool<C>,
): TransactionalDatabase<C> {
  return {
    dialect: 'mysql',
    async transaction(work) {
      const connection = await pool.getConnection()
      let broken = true
      try {
        await connection.query({ sql: 'start transaction' })
        try {
          const result = await work(connection)
          await connection.query({ sql: 'commit' })
          broken = false
          return result
        } catch (error) {
          await connection.query({ sql: 'rollback' }).then(() => (broken = false), noted)
          throw error
        }
      } finally {
        if (broken) connection.destroy()
        else connection.release()
      }
    },
    query: (tx, sql, values) => mysqlSession(tx).query(sql, values),
  }
}

export function mysqlSession(tx: MysqlTransaction): SqlSession {
  return {
    dialect: 'mysql',
    identity: 'connection' in tx && typeof tx.connection === 'object' && tx.connection ? tx.connection : tx,
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

/** A statement that returns nothing is answered with a header in place of rows. */
export function rowsOf(rows: unknown): readonly unknown[] {
  return Array.isArray(rows) ? rows : []
}

/** A connection that cannot roll back is broken, which its end does as well. */
function noted(): void {}
