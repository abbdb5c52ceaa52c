/** Recognizes a transaction of any library by its properties. */
import { LockUsageError } from '../errors.js'
import type { SqlSession } from './database.js'
import { drizzleSession, isDrizzle, type DrizzleTransaction } from './libraries/drizzle.js'
import { knexSession, type KnexTransaction } from './libraries/knex.js'
import { kyselySession, type KyselyTransaction } from './libraries/kysely.js'
import { mysqlSession, type MysqlTransaction } from './libraries/mysql2.js'
import { checkedPgSession, type PgTransaction } from './libraries/pg.js'
import { postgresJsSession, type PostgresJsTransaction } from './libraries/postgres-js.js'
import { prismaSession, type PrismaTransaction } from './libraries/prisma.js'
import { isTypeorm, typeormSession, type TypeormTransaction } from './libraries/typeorm.js'

/** A transaction of any library that Holdfast knows, or of any other as a `SqlSession`. */
export type SqlTransaction =
  | PgTransaction
  | PostgresJsTransaction
  | MysqlTransaction
  | KyselyTransaction
  | DrizzleTransaction
  | KnexTransaction
  | PrismaTransaction
  | TypeormTransaction
  | SqlSession

/** @throws LockUsageError for what is no transaction, as far as can be seen. */
export function sessionOf(tx: SqlTransaction): SqlSession {
  const session = isObject(tx) ? SOURCES.find(({ isIts }) => isIts(tx))?.session(tx) : undefined
  if (session) return session
  throw new LockUsageError(
    'A transaction is needed here, as pg, postgres, mysql2/promise, Kysely, Drizzle, Knex, Prisma or TypeORM give it to the ' +
      'work that runs in it, or an object with dialect and query. A database or a pool will not do.',
  )
}

/** Where a transaction may come from. */
interface Source {
  /** Whether an object is of this library, by a mark that others lack. */
  readonly isIts: (tx: object) => boolean
  /** Returns undefined for what is no transaction, such as a pool. */
  readonly session: (tx: object) => SqlSession | undefined
}

/**
 * The order matters: the most telling marks first, since a client of `pg` is known by its `query`
 * alone.
 */
const SOURCES: readonly Source[] = [
  {
    isIts: (tx) => 'dialect' in tx && typeof tx.dialect === 'string' && has(tx, 'query'),
    session: (tx) => (has(tx, 'transaction') ? undefined : (tx as SqlSession)),
  },
  {
    isIts: (tx) => has(tx, 'getExecutor'),
    session: (tx) => kyselySession(tx as KyselyTransaction),
  },
  {
    isIts: isDrizzle,
    session: (tx) => (has(tx, 'rollback') ? drizzleSession(tx as DrizzleTransaction) : undefined),
  },
  {
    isIts: (tx) => has(tx, '$queryRawUnsafe'),
    session: (tx) => (has(tx, '$connect') ? undefined : prismaSession(tx as PrismaTransaction)),
  },
  {
    isIts: (tx) => has(tx, 'raw') && 'client' in tx,
    session: (tx) => knexSession(tx as KnexTransaction),
  },
  {
    isIts: (tx) => has(tx, 'unsafe'),
    session: (tx) =>
      has(tx, 'savepoint') ? postgresJsSession(tx as PostgresJsTransaction) : undefined,
  },
  { isIts: isTypeorm, session: (tx) => typeormSession(tx as TypeormTransaction) },
  {
    isIts: (tx) => has(tx, 'execute') && has(tx, 'query'),
    session: (tx) => (has(tx, 'getConnection') ? undefined : mysqlSession(tx as MysqlTransaction)),
  },
  { isIts: (tx) => has(tx, 'query'), session: checkedPgSession },
]

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

function has(value: object, method: string): boolean {
  return method in value && typeof (value as Record<string, unknown>)[method] === 'function'
}
