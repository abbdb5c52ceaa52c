/**
 * The port through which Holdfast uses a database of any client library. It imports none of them:
 * `libraries/` describes the used part of each. For other libraries a few lines make a
 * `TransactionalDatabase`.
 */
import { LockUsageError } from '../errors.js'
import { describe } from '../options/describe.js'

/** Whose SQL is spoken. MariaDB counts as MySQL. */
export type Dialect = 'postgres' | 'mysql'

/** A database in the hands of some library. `Tx` is what that library calls a transaction. */
export interface TransactionalDatabase<Tx> {
  /** The SQL that the database speaks. */
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
  /** The SQL that the database speaks. */
  readonly dialect: Dialect
  /** As that of `TransactionalDatabase`. */
  query(sql: string, values: readonly unknown[]): Promise<readonly unknown[]>
  /**
   * Makes a savepoint, for libraries that must make it themselves, and rolls back to it when `work`
   * rejects.
   */
  savepoint?<T>(work: (session: SqlSession) => Promise<T>): Promise<T>
  /** Rejects when no transaction has begun, for libraries that would run statements anyway. */
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
 * Rejects a transaction, in which only a savepoint could begin. Its end is no commit, so a lock
 * would be released before other sessions see what it covers. A retry would still read the old
 * snapshot of the transaction.
 * @throws LockUsageError for a transaction instead of a database
 */
export function refuseTransaction(isTransaction: boolean, library: string): void {
  if (!isTransaction) return
  throw new LockUsageError(
    `This is a transaction of ${library}, in which only a savepoint could begin. Give the database itself, and let the ` +
      'transaction begin there.',
  )
}

/** Returns the error for a transaction that cannot commit, after a statement of it has failed. */
export function rolledBack(cause?: unknown): LockUsageError {
  return new LockUsageError(
    'The database rolled the transaction back when it was to commit, since a statement in it had failed. ' +
      'Let the error of that statement pass, or use a savepoint.',
    { cause },
  )
}
