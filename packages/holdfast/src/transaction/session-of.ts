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
  const session = isObject(tx) ? recognised(tx) : undefined
  if (session) return session
  throw new LockUsageError(
    'A transaction is needed here, as pg, postgres, mysql2/promise, Kysely, Drizzle, Knex, Prisma or TypeORM give it to the ' +
      'work that runs in it, or an object with dialect and query. A database or a pool will not do.',
  )
}

/**
 * The order matters: the most telling marks first, since a client of `pg` is known by its `query`
 * alone.
 */
function recognised(tx: object): SqlSession | undefined {
  if ('dialect' in tx && typeof tx.dialect === 'string' && has(tx, 'query')) {
    return has(tx, 'transaction') ? undefined : (tx as SqlSession)
  }
  if (has(tx, 'getExecutor')) return kyselySession(tx as KyselyTransaction)
  if (isDrizzle(tx))
    return has(tx, 'rollback') ? drizzleSession(tx as DrizzleTransaction) : undefined
  if (has(tx, '$queryRawUnsafe')) {
    return has(tx, '$connect') ? undefined : prismaSession(tx as PrismaTransaction)
  }
  if (has(tx, 'raw') && 'client' in tx) return knexSession(tx as KnexTransaction)
  if (has(tx, 'unsafe'))
    return has(tx, 'savepoint') ? postgresJsSession(tx as PostgresJsTransaction) : undefined
  if (isTypeorm(tx)) return typeormSession(tx as TypeormTransaction)
  if (has(tx, 'execute') && has(tx, 'query')) {
    return has(tx, 'getConnection') ? undefined : mysqlSession(tx as MysqlTransaction)
  }
  return has(tx, 'query') ? checkedPgSession(tx) : undefined
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

function has(value: object, method: string): boolean {
  return method in value && typeof (value as Record<string, unknown>)[method] === 'function'
}
