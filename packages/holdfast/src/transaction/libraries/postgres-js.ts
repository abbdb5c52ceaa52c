/** Transactions of `postgres` (postgres.js). */
import { checkHandle, type SqlSession, type TransactionalDatabase } from '../database.js'
import { checkNoOptions } from '../../options/known-keys.js'
import { runUntilTransactionEnds } from './run-until-transaction-ends.js'

/** What `sql.begin` gives to its callback. */
export interface PostgresJsTransaction {
  unsafe(text: string, values?: never[]): PromiseLike<readonly unknown[]>
}

/** Not in the type above, from which the library's own could not be inferred any more. */
interface WithSavepoint {
  savepoint(work: (tx: PostgresJsTransaction) => Promise<unknown>): Promise<unknown>
}

/** As much of a `postgres` instance as is used. */
export interface PostgresJsTransactions<Tx extends PostgresJsTransaction> {
  begin(work: (tx: Tx) => Promise<unknown>): Promise<unknown>
}

/** Transactions through an instance of `postgres`. */
export function postgresJsTransactions<Tx extends PostgresJsTransaction>(
  sql: PostgresJsTransactions<Tx>,
): TransactionalDatabase<Tx>
export function postgresJsTransactions<Tx extends PostgresJsTransaction>(
  sql: PostgresJsTransactions<Tx>,
  extra?: unknown,
): TransactionalDatabase<Tx> {
  checkNoOptions('postgresJsTransactions', extra)
  checkHandle(sql, 'An instance of postgres', 'begin')
  return {
    dialect: 'postgres',
    transaction: (work) => runUntilTransactionEnds((boxed) => sql.begin(boxed), work),
    query: (tx, text, values) => postgresJsSession(tx).query(text, values),
  }
}

export function postgresJsSession(tx: PostgresJsTransaction): SqlSession {
  return {
    dialect: 'postgres',
    query: async (text, values) => tx.unsafe(text, [...values] as never[]),
    // A failed statement aborts the transaction, caught or not, unless it failed in a savepoint of
    // the library's own.
    savepoint: (work) =>
      runUntilTransactionEnds(
        (boxed) => (tx as never as WithSavepoint).savepoint(boxed),
        (inner: PostgresJsTransaction) => work(postgresJsSession(inner)),
        tx,
      ),
  }
}
