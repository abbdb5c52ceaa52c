/**
 * What Holdfast needs of a database in the hands of some client library. Nothing is imported from
 * any of them: what is used of each is written down in `libraries/`, and for anything else a few
 * lines make a `TransactionalDatabase`.
 */
import { LockUsageError } from '../errors.js'
import { describe } from '../lease/options.js'

/** Whose SQL is spoken. MariaDB counts as MySQL. */
export type Dialect = 'postgres' | 'mysql'

/** A database in the hands of some library. `Tx` is what that library calls a transaction. */
export interface TransactionalDatabase<Tx> {
  readonly dialect: Dialect
  /**
   * Begins a transaction, commits it when `work` resolves, and rolls it back when `work` rejects.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * Runs a statement in the transaction, and resolves to its rows as objects. Values stand as `$1`
   * in PostgreSQL and as `?` in MySQL, in the order in which they are given.
   */
  query(tx: Tx, sql: string, values: readonly unknown[]): Promise<readonly unknown[]>
}

/** A transaction that is at work. */
export interface SqlSession {
  readonly dialect: Dialect
  /** As that of `TransactionalDatabase`. */
  query(sql: string, values: readonly unknown[]): Promise<readonly unknown[]>
  /**
   * How the library wants savepoints made, if it must be told. Rolls back to it when `work`
   * rejects.
   */
  savepoint?<T>(work: (session: SqlSession) => Promise<T>): Promise<T>
  /** Rejects when no transaction has begun, where statements would be run all the same. */
  checkBegun?(): Promise<void>
  /** Something that stays the same for as long as table names mean the same tables. */
  readonly identity?: object
}

/** A row of an answer. */
export type SqlRow = Readonly<Record<string, unknown>>

/**
 * @throws LockUsageError when a library speaks to another database than those that Holdfast knows.
 */
export function checkDialect(name: unknown, library: string): Dialect {
  if (name === 'postgres' || name === 'mysql') return name
  throw new LockUsageError(
    `This ${library} database is neither PostgreSQL nor MySQL or MariaDB, which are the ones that Holdfast knows.`,
  )
}

/**
 * @param wanted what the library calls its handle
 * @param sign a property by which it is known
 * @throws LockUsageError for anything else in its place
 */
export function checkHandle(handle: unknown, wanted: string, sign: string): void {
  if (
    (typeof handle === 'object' || typeof handle === 'function') &&
    handle !== null &&
    sign in handle
  )
    return
  throw new LockUsageError(
    `${wanted} is needed here, to begin transactions with, and not ${describe(handle)}.`,
  )
}

/** @throws LockUsageError for what is not a `TransactionalDatabase`. */
export function checkTransactional(db: unknown): void {
  if (
    typeof db === 'object' &&
    db !== null &&
    'transaction' in db &&
    'query' in db &&
    'dialect' in db
  ) {
    if (db.dialect === 'postgres' || db.dialect === 'mysql') return
  }
  throw new LockUsageError(
    'A database is needed here: pgTransactions(pool), postgresJsTransactions(sql), mysqlTransactions(pool), ' +
      'kyselyTransactions(db), drizzleTransactions(db), knexTransactions(knex), prismaTransactions(prisma), ' +
      'typeormTransactions(dataSource), or an object with dialect, transaction and query.',
  )
}

/**
 * What begins in a transaction is a savepoint. Its end is no commit, so a lock would be given back
 * before what it covers is there to be seen, and what is tried again would still see what the
 * transaction saw before.
 * @throws LockUsageError for a transaction in place of the database that it is of
 */
export function refuseTransaction(isTransaction: boolean, library: string): void {
  if (!isTransaction) return
  throw new LockUsageError(
    `This is a transaction of ${library}, in which only a savepoint could begin. Give the database itself, and let the ` +
      'transaction begin there.',
  )
}

/**
 * A statement failed, somebody swallowed its error, and what is left of the transaction cannot be
 * committed.
 */
export function rolledBack(cause?: unknown): LockUsageError {
  return new LockUsageError(
    'The database rolled the transaction back when it was to commit, since a statement in it had failed. ' +
      'Let the error of that statement pass, or use a savepoint.',
    { cause },
  )
}
