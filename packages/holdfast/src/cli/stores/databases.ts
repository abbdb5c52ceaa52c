/** What the commands do with a database besides locking: its tables, and its diagnosis. */
import { diagnose as diagnoseMysql, type MysqlDiagnosis } from '../../stores/mysql/diagnose.js'
import * as mysql from '../../stores/mysql/index.js'
import {
  diagnose as diagnosePostgres,
  type PostgresDiagnosis,
} from '../../stores/postgres/diagnose.js'
import * as postgres from '../../stores/postgres/index.js'
import { databaseUrl } from '../../url/database-url.js'
import { kindOf } from '../../url/store-kinds.js'
import { openMysqlPool } from '../../url/mysql.js'
import { openPostgresPool } from '../../url/postgres.js'
import { schemeOf } from '../../url/scheme.js'
import { UsageError } from '../cli-error.js'
import { libraryFolder } from './libraries.js'
import type { StoreLocation } from './locate.js'

/**
 * Returns the SQL that creates the tables and routines of the URL's database; undefined for a store
 * that is in none.
 */
export function migrationScript(url: string): string | undefined {
  if (isPostgres(url) === undefined) return undefined
  return isPostgres(url) === true
    ? postgres.postgresSchema(databaseUrl(url, 'schema').own)
    : mysql.mysqlSchema(databaseUrl(url, 'prefix').own)
}

/** Creates the tables and routines. */
export function migrate(location: StoreLocation): Promise<void> {
  return isPostgres(location.url) === true
    ? withPostgres(location, ({ pool, schema }) => postgres.migratePostgres(pool, schema))
    : withMysql(location, ({ pool, prefix }) => mysql.migrateMysql(pool, prefix))
}

/** Returns the facts that `doctor` reports about PostgreSQL. */
export function examinePostgres(location: StoreLocation): Promise<PostgresDiagnosis> {
  return withPostgres(location, diagnosePostgres)
}

/** Returns the facts that `doctor` reports about MySQL or MariaDB. */
export function examineMysql(location: StoreLocation): Promise<MysqlDiagnosis> {
  return withMysql(location, diagnoseMysql)
}

/** Whether the URL names PostgreSQL; false for MySQL, undefined for a store in no database. */
function isPostgres(url: string): boolean | undefined {
  const scheme = schemeOf(url)
  const kind = kindOf(scheme)
  if (kind === undefined) throw new UsageError(`There is no store for ${scheme}: URLs.`)
  if (kind.name === 'postgres') return true
  return kind.name === 'mysql' ? false : undefined
}

type PostgresOptions = Awaited<ReturnType<typeof openPostgresPool>>
type MysqlOptions = Awaited<ReturnType<typeof openMysqlPool>>

async function withPostgres<T>(
  { url, modules }: StoreLocation,
  use: (own: PostgresOptions) => Promise<T>,
): Promise<T> {
  return closingPool(await openPostgresPool(url, libraryFolder(url, modules)), use)
}

async function withMysql<T>(
  { url, modules }: StoreLocation,
  use: (own: MysqlOptions) => Promise<T>,
): Promise<T> {
  return closingPool(await openMysqlPool(url, libraryFolder(url, modules)), use)
}

async function closingPool<Own extends { readonly pool: { end(): Promise<void> } }, T>(
  own: Own,
  use: (own: Own) => Promise<T>,
): Promise<T> {
  try {
    return await use(own)
  } finally {
    await own.pool.end()
  }
}
