/**
 * How a transaction is run in the caller's database: by its own client library, of which nothing is imported. `pg`,
 * `postgres` and `mysql2` are known; for anything else a few lines make a `TransactionalDatabase`.
 */
import { LockUsageError } from '../errors.js'

/** A database in the hands of some library. `Tx` is what that library calls a transaction. */
export interface TransactionalDatabase<Tx> {
  /** Begins a transaction, commits it when `work` resolves, and rolls it back when `work` rejects. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Runs a statement in the transaction, and resolves to its rows. Values stand as `$1` in PostgreSQL, as `?` in MySQL. */
  query(tx: Tx, sql: string, values: readonly string[]): Promise<readonly unknown[]>
}

/** A client of `pg`, checked out of its pool. */
export interface PgTransaction {
  query(text: string, values?: string[]): Promise<{ rows: unknown[]; command?: string }>
  on?(event: 'error', listener: () => void): unknown
  off?(event: 'error', listener: () => void): unknown
}

/** As much of a pool of `pg` as is used. `C` is its client. */
export interface PgTransactionPool<C extends PgTransaction> {
  connect(): Promise<C & { release(error?: boolean): void }>
}

/** Transactions through a pool of `pg`. */
export function pgTransactions<C extends PgTransaction>(
  pool: PgTransactionPool<C>,
): TransactionalDatabase<C> {
  return {
    async transaction(work) {
      const client = await pool.connect()
      let broken = true
      // A connection that is lost between two statements would end the process. The next statement tells of it.
      client.on?.('error', noted)
      try {
        await client.query('begin')
        try {
          const result = await work(client)
          const { command } = await client.query('commit')
          broken = false
          if (command === 'ROLLBACK') throw rolledBack()
          return result
        } catch (error) {
          // The first failure is the one to report.
          if (broken) await client.query('rollback').then(() => (broken = false), noted)
          throw error
        }
      } finally {
        client.off?.('error', noted)
        // What could neither be committed nor rolled back must not go back into the pool.
        client.release(broken)
      }
    },
    query: async (tx, sql, values) => (await tx.query(sql, [...values])).rows,
  }
}

/** A transaction of `postgres` (postgres.js). */
export interface PostgresJsTransaction {
  unsafe(text: string, values?: never[]): PromiseLike<readonly unknown[]>
}

/** As much of a `postgres` instance as is used. */
export interface PostgresJsTransactions<Tx extends PostgresJsTransaction> {
  begin(work: (tx: Tx) => Promise<unknown>): Promise<unknown>
}

/** Transactions through an instance of `postgres`. */
export function postgresJsTransactions<Tx extends PostgresJsTransaction>(
  sql: PostgresJsTransactions<Tx>,
): TransactionalDatabase<Tx> {
  return {
    transaction: async (work) => {
      // In a box: the library awaits the elements of a list that is returned.
      const box = (await sql.begin(async (tx) => ({ result: await work(tx) }))) as {
        result: Awaited<ReturnType<typeof work>>
      }
      return box.result
    },
    query: (tx, text, values) => Promise.resolve(tx.unsafe(text, [...values] as never[])),
  }
}

/** A connection of `mysql2/promise`. */
export interface MysqlTransaction {
  query(statement: { sql: string; rowsAsArray?: boolean }): Promise<[unknown, unknown]>
  execute(statement: { sql: string; values: string[]; rowsAsArray?: boolean }): Promise<[unknown, unknown]>
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
    query: async (tx, sql, values) => {
      const [rows] = await tx.execute({ sql, values: [...values], rowsAsArray: false })
      return Array.isArray(rows) ? rows : []
    },
  }
}

/** @throws LockUsageError for anything else. */
export function checkTransactional(db: unknown): void {
  if (typeof db === 'object' && db !== null && 'transaction' in db && 'query' in db) return
  throw new LockUsageError(
    'locks.transaction needs a database: pgTransactions(pool), postgresJsTransactions(sql), mysqlTransactions(pool), ' +
      'or an object with transaction and query.',
  )
}

/** PostgreSQL answers a commit so when a statement had failed and somebody swallowed the error. */
function rolledBack(): LockUsageError {
  return new LockUsageError(
    'The database rolled the transaction back when it was to commit, since a statement in it had failed. ' +
      'Let the error of that statement pass, or use a savepoint.',
  )
}

/** A connection that cannot roll back is broken, which its end does as well. */
function noted(): void {}
