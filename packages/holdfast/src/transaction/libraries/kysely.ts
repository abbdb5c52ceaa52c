/** Transactions of Kysely, over its dialects for PostgreSQL and MySQL. */
import { LockUsageError } from '../../errors.js'
import {
  checkHandle,
  checkDialect,
  type Dialect,
  type SqlSession,
  type TransactionalDatabase,
} from '../database.js'
import { checkNoOptions } from '../../options/known-keys.js'
import { checkedTransactions } from '../open-transaction.js'

/** What `db.transaction().execute` gives to its callback. */
export interface KyselyTransaction {
  readonly isTransaction: boolean
  executeQuery(query: never): Promise<{ rows: unknown[] }>
}

/** As much of a Kysely instance as is used. */
export interface KyselyDatabase<Tx extends KyselyTransaction> {
  transaction(): { execute<T>(work: (tx: Tx) => Promise<T>): Promise<T> }
}

/** Transactions through an instance of Kysely. Rows come as its plugins leave them. */
export function kyselyTransactions<Tx extends KyselyTransaction>(
  db: KyselyDatabase<Tx>,
): TransactionalDatabase<Tx>
export function kyselyTransactions<Tx extends KyselyTransaction>(
  db: KyselyDatabase<Tx>,
  extra?: unknown,
): TransactionalDatabase<Tx> {
  checkNoOptions('kyselyTransactions', extra)
  checkHandle(db, 'An instance of Kysely', 'getExecutor')
  return checkedTransactions({
    dialect: dialectOf(db),
    transaction: (work) => db.transaction().execute(work),
    query: async (tx, sql, values) => kyselySession(tx).query(sql, values),
  })
}

/** @throws LockUsageError outside of a transaction. */
export function kyselySession(tx: KyselyTransaction): SqlSession {
  if (!tx.isTransaction) {
    throw new LockUsageError(
      'A transaction is needed here: what db.transaction().execute(work) of Kysely gives to work.',
    )
  }
  const template = compiled(tx)
  return {
    dialect: dialectOf(tx),
    async query(sql, parameters) {
      const { rows } = await tx.executeQuery({ ...template, sql, parameters } as never)
      return rows
    },
  }
}

/** A query that was compiled, of which only text and values are then exchanged. */
interface Compiled {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

interface WithBuilder {
  selectFrom(table: string): { selectAll(): { compile(): Compiled } }
}

function compiled(db: object): Compiled {
  return (db as WithBuilder).selectFrom('t').selectAll().compile()
}

/**
 * The library does not name its dialect. Quotes differ, and where they do not, what its adapter
 * says of the database.
 */
function dialectOf(db: object): Dialect {
  const { sql } = compiled(db)
  const isPostgres = sql.includes('"') && hasPostgresTraits(db)
  return checkDialect(sql.includes('`') ? 'mysql' : isPostgres ? 'postgres' : undefined, 'Kysely')
}

interface WithAdapter {
  getExecutor(): {
    readonly adapter: {
      readonly supportsReturning?: boolean
      readonly supportsTransactionalDdl?: boolean
    }
  }
}

/**
 * SQLite has no schema changes in transactions, for Kysely, and SQL Server has no RETURNING. Names
 * would not outlast a bundler.
 */
function hasPostgresTraits(db: object): boolean {
  const { adapter } = (db as WithAdapter).getExecutor()
  return adapter.supportsReturning === true && adapter.supportsTransactionalDdl === true
}
