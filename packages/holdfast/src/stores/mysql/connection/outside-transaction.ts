/** Connections of a pool of `mysql2` on which no transaction is open. */
import { LockUsageError } from '../../../errors.js'
import { warnOnce } from '../../sql/connection/warn-once.js'

/** As much of a connection of `mysql2/promise` as is used. */
interface Lent {
  query(statement: { sql: string; values: string[] }): Promise<[unknown, unknown]>
  release(): void
  destroy(): void
}

interface Lender<C> {
  getConnection(): Promise<C>
}

/** How many connections are left at most for one statement. */
export const MOST_LEFT = 20

/** What a connection says of itself with each answer that has no rows, as flags. */
export const IN_TRANSACTION = 1
export const AUTOCOMMIT = 2

/** Returns the flags of the server, or undefined for a connection that does not show them. */
export async function statusOf(connection: Pick<Lent, 'query'>): Promise<number | undefined> {
  const [header] = await connection.query({ sql: 'do 0', values: [] })
  const { serverStatus } = (header ?? {}) as { serverStatus?: unknown }
  return typeof serverStatus === 'number' ? serverStatus : undefined
}

/** Returns how many connections the pool may have, or Infinity if it does not show that. */
export function limitOf(pool: object): number {
  const { config } = (pool as { pool?: { config?: { connectionLimit?: number } } }).pool ?? {}
  return config?.connectionLimit ?? Infinity
}

/**
 * Lends a connection outside of a transaction. START TRANSACTION and statements such as CREATE
 * TABLE would commit the open transaction of a program. The pool would lend a connection inside of
 * one again at once, so that one is ended, unless the pool has no other.
 * @throws LockUsageError when the only connection is inside of a transaction.
 */
export async function lendOutsideTransaction<C extends Lent>(pool: Lender<C>): Promise<C> {
  for (let left = 0; ; left += 1) {
    const connection = await pool.getConnection()
    let status: number | undefined
    try {
      status = await statusOf(connection)
    } catch (error) {
      connection.destroy()
      throw error
    }
    if (((status ?? 0) & IN_TRANSACTION) === 0) return connection
    if (limitOf(pool) === 1 || left >= MOST_LEFT) {
      connection.release()
      throw new LockUsageError(
        'The connection of the pool is inside of a transaction, which another one would commit. ' +
          'End each transaction before its connection returns to the pool.',
      )
    }
    connection.destroy()
    warnOfOpenTransaction()
  }
}

export function warnOfOpenTransaction(): void {
  warnOnce(
    'HOLDFAST_OPEN_TRANSACTION',
    'A program returned a connection to the pool inside of a transaction. Holdfast ended the connection, and the ' +
      'transaction was rolled back. End each transaction before its connection returns to the pool.',
  )
}
