/**
 * Transactions that the database ends before their work does. MySQL rolls a whole transaction back
 * for a deadlock, and commits each later statement at once. PostgreSQL rolls back at COMMIT after a
 * failed statement. When the work swallows the error of that statement, most libraries then report
 * a commit.
 */
import { LockUsageError } from '../errors.js'
import { rolledBack, type TransactionalDatabase } from './database.js'
import { isAborted } from './errors.js'
import { makeSavepoint, releaseSavepoint } from './savepoint.js'

/**
 * Rejects when the transaction has ended. The work must call it after the last statement that
 * others gave it.
 */
export type AssertOpen = () => Promise<void>

/** The databases that check their own transactions, and the same ones without that check. */
const unchecked = new WeakMap<object, object>()

/**
 * Returns `db` with transactions that reject when the database ended them before their work did.
 */
export function checkedTransactions<Tx>(db: TransactionalDatabase<Tx>): TransactionalDatabase<Tx> {
  const checked: TransactionalDatabase<Tx> = {
    ...db,
    transaction: (work) =>
      openTransaction(db, 'holdfast_transaction', async (tx, assertOpen) => {
        const result = await work(tx)
        await assertOpen()
        return result
      }),
  }
  unchecked.set(checked, db)
  return checked
}

/** Returns the database without the check, for callers that make the same check themselves. */
export function withoutCheck<Tx>(db: TransactionalDatabase<Tx>): TransactionalDatabase<Tx> {
  return (unchecked.get(db) as TransactionalDatabase<Tx> | undefined) ?? db
}

/**
 * As `db.transaction`, for work that calls `assertOpen` itself.
 * @param savepoint its name on MySQL. It ends with the transaction, also when a statement such as
 * CREATE TABLE commits it. A second savepoint of that name would replace it, and a caller's own
 * handle may call another handle.
 */
export function openTransaction<Tx, T>(
  db: TransactionalDatabase<Tx>,
  savepoint: string,
  work: (tx: Tx, assertOpen: AssertOpen) => Promise<T>,
): Promise<T> {
  const mysql = db.dialect === 'mysql'
  return withoutCheck(db).transaction(async (tx) => {
    const query = (sql: string): Promise<unknown> => db.query(tx, sql, [])
    // Not on PostgreSQL, where a transaction must choose its isolation before its first savepoint.
    if (mysql) await makeSavepoint(query, savepoint)
    return work(tx, () => (mysql ? assertNotEnded(query, savepoint) : assertNotAborted(query)))
  })
}

async function assertNotEnded(
  query: (sql: string) => Promise<unknown>,
  savepoint: string,
): Promise<void> {
  if (!(await releaseSavepoint(query, savepoint))) throw new LockUsageError(ENDED_EARLY)
}

async function assertNotAborted(query: (sql: string) => Promise<unknown>): Promise<void> {
  try {
    await query('select 1 as open')
  } catch (error) {
    throw isAborted(error) ? rolledBack(error) : error
  }
}

/** How a transaction ends before its work does, what then is written, and what to do. */
export const ENDED_EARLY =
  'The transaction had ended before the work did. Either the server rolled it back for a statement whose error was ' +
  'swallowed, such as a deadlock, or it was ended by a COMMIT, a ROLLBACK or, on MySQL, a statement that commits, such as ' +
  'CREATE TABLE. On MySQL each later statement was committed at once, and what it wrote stays written. Let the errors of ' +
  'statements pass, and throw to roll back.'
