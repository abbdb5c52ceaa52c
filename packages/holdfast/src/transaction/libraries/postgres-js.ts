/** Transactions of `postgres` (postgres.js). */
import {
  checkHandle,
  rolledBack,
  type SqlSession,
  type TransactionalDatabase,
} from '../database.js'
import { checkNoOptions } from '../../options/known-keys.js'
import {
  checkSingle,
  insideTransaction,
  MOST_TRIES,
  rollBackIdle,
} from '../../stores/postgres/connection/unusable-connections.js'
import { isPostgresJs, type PostgresJs } from '../../stores/postgres/connection/pools.js'
import {
  ROLLED_BACK,
  warnOfOpenTransaction,
} from '../../stores/postgres/connection/transaction-status.js'
import { codesOf } from '../errors.js'
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
    transaction: (work) =>
      isPostgresJs(sql)
        ? transactionOfItsOwn(sql as PostgresJs & PostgresJsTransactions<Tx>, work)
        : runUntilTransactionEnds((boxed) => sql.begin(boxed), work),
    query: (tx, text, values) => postgresJsSession(tx).query(text, values),
  }
}

/**
 * Runs `work` in a transaction that begins here. The library may lend a connection that a program
 * left inside of a transaction: BEGIN would be part of that, and COMMIT would commit both.
 * @throws LockUsageError when there is no connection outside of a transaction
 */
async function transactionOfItsOwn<Tx extends PostgresJsTransaction, T>(
  sql: PostgresJs & PostgresJsTransactions<Tx>,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  await checkSingle(sql)
  for (let tries = 1; ; tries += 1) {
    let hasBegun = false
    try {
      return await runUntilTransactionEnds<Tx, T>(
        (boxed) => sql.begin(boxed),
        async (tx) => {
          const answers = await tx.unsafe(BEGIN_AGAIN)
          hasBegun = true
          const result = await work(tx)
          if (isThroughPooler(answers)) await commitAsText(tx)
          return result
        },
      )
    } catch (error) {
      if (hasBegun || !codesOf(error).some((code) => INSIDE.has(code))) throw error
      if (tries >= MOST_TRIES) throw insideTransaction(error)
      warnOfOpenTransaction(ROLLED_BACK)
      await rollBackIdle(sql)
    }
  }
}

/**
 * Fails where the transaction has run a statement or made a savepoint, and the library rolls back.
 * Where it has done neither, it begins again with the same characteristics.
 */
const BEGIN_AGAIN =
  'set transaction not deferrable; select pg_catalog.pg_backend_pid() as pid; rollback and chain'

/** An answer of the library, which keeps what the server said when the connection began. */
type Answer = readonly { readonly pid?: unknown }[] & {
  readonly command?: string
  readonly state?: { readonly pid?: unknown }
}

/** Whether a pooler gave the connection an id of its own in the place of the server's. */
function isThroughPooler(answers: readonly unknown[]): boolean {
  const [, own] = answers as readonly Answer[]
  return own?.[0]?.pid !== own?.state?.pid
}

/**
 * Commits by a statement without a name, and begins an empty transaction for the library to end.
 * The library prepares its COMMIT. A pooler may lend a connection on which it was not prepared: it
 * fails there, which ends the transaction. The library repeats it, and the server answers that by a
 * rollback, which is no error.
 * @throws Error when the server has rolled the transaction back.
 */
async function commitAsText(tx: PostgresJsTransaction): Promise<void> {
  const answer = (await tx.unsafe('commit and chain')) as Answer
  if (answer.command === 'ROLLBACK') throw rolledBack()
}

/** Of that failure, and of BEGIN in a transaction that failed. */
const INSIDE = new Set<unknown>(['25001', '25P02'])

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
