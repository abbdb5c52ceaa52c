/**
 * `mysql2` as the store uses it. Nothing is imported from it, and the pool that the caller passes in is never closed.
 */
import { LockUsageError } from '../../errors.js'
import { tooLate, type Patience } from '../sql/statements.js'

/** A statement with its values. */
export interface Statement {
  readonly sql: string
  readonly values: string[]
  /** Whatever the pool is set to, rows come as objects. */
  readonly rowsAsArray: false
}

/** As much of a connection of `mysql2/promise` as is used. */
export interface MysqlConnection {
  query(statement: Statement): Promise<[unknown, unknown]>
  execute(statement: Statement): Promise<[unknown, unknown]>
  release(): void
  destroy(): void
}

/** As much of a pool of `mysql2/promise` as is used. */
export interface MysqlPool {
  query(statement: Statement): Promise<[unknown, unknown]>
  execute(statement: Statement): Promise<[unknown, unknown]>
  getConnection(): Promise<MysqlConnection>
}

/** A pool of `mysql2` itself, with callbacks. */
export interface MysqlCallbackPool {
  promise(): MysqlPool
}

/** @throws LockUsageError for anything else than a pool of `mysql2`. */
export function poolOf(pool: unknown): MysqlPool {
  if (typeof pool === 'object' && pool !== null) {
    if ('promise' in pool && typeof pool.promise === 'function') return (pool as MysqlCallbackPool).promise()
    if ('execute' in pool && 'getConnection' in pool) return pool as MysqlPool
  }
  throw new LockUsageError(
    'mysqlStore needs a pool: createPool(…) of "mysql2/promise" or of "mysql2". A single connection will not do.',
    { store: 'mysql' },
  )
}

/** How many connections the pool may have, where that can be seen. */
export function limitOf(pool: MysqlPool): number {
  const { config } = (pool as { pool?: { config?: { connectionLimit?: number } } }).pool ?? {}
  return config?.connectionLimit ?? Infinity
}

export function statement(sql: string, values: readonly string[] = []): Statement {
  return { sql, values: [...values], rowsAsArray: false }
}

/** Prepared: how the client would have to quote text depends on the mode of the session. */
export async function execute(pool: MysqlPool, of: Statement, patience: Patience): Promise<unknown> {
  const connection = await pool.getConnection()
  if (patience.over) {
    connection.release()
    throw tooLate()
  }
  patience.giveUp = () => connection.destroy()
  try {
    return (await connection.execute(of))[0]
  } finally {
    // The pool itself sees to connections that are broken.
    if (!patience.over) connection.release()
  }
}
