/** Transactions of `postgres` (postgres.js). */
import type { SqlSession, TransactionalDatabase } from '../database.js'

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
): TransactionalDatabase<Tx> {
  return {
    dialect: 'postgres',
    transaction: (work) => unboxed((box) => sql.begin((tx) => box(work(tx)))),
    query: (tx, text, values) => postgresJsSession(tx).query(text, values),
  }
}

export function postgresJsSession(tx: PostgresJsTransaction): SqlSession {
  return {
    dialect: 'postgres',
    query: (text, values) => Promise.resolve(tx.unsafe(text, [...values] as never[])),
    // A statement that fails dooms the transaction, caught or not, unless it failed in a savepoint of the library's own.
    savepoint: (work) =>
      unboxed((box) =>
        (tx as never as WithSavepoint).savepoint((inner) => box(work(postgresJsSession(inner)))),
      ),
  }
}

/** The library awaits the elements of a list that is returned. In a box they stay what they are. */
async function unboxed<T>(
  run: (box: (result: Promise<T>) => Promise<{ result: T }>) => Promise<unknown>,
): Promise<T> {
  const { result } = (await run(async (promise) => ({ result: await promise }))) as { result: T }
  return result
}
