/** What the commands do with a database besides locking: its tables, and its diagnosis. */
import * as mysql from 'holdfast/mysql'
import * as postgres from 'holdfast/postgres'
import { databaseUrl, openMysqlPool, openPostgresPool, schemeOf } from 'holdfast/url'
import { UsageError } from '../cli-error.js'
import { libraryFolder } from './libraries.js'
import type { StoreLocation } from './locate.js'

/** Returns the SQL that creates the tables and routines of the URL's database. */
export function migrationScript(url: string): string {
  return isPostgres(url)
    ? postgres.postgresSchema(databaseUrl(url, 'schema').own)
    : mysql.mysqlSchema(databaseUrl(url, 'prefix').own)
}

/** Creates the tables and routines. */
export function migrate(location: StoreLocation): Promise<void> {
  return isPostgres(location.url)
    ? withPostgres(location, ({ pool, schema }) => postgres.migratePostgres(pool, schema))
    : withMysql(location, ({ pool, prefix }) => mysql.migrateMysql(pool, prefix))
}

/** Returns the facts that `doctor` reports about PostgreSQL. */
export function examinePostgres(location: StoreLocation): Promise<postgres.PostgresDiagnosis> {
  return withPostgres(location, postgres.diagnose)
}

/** Returns the facts that `doctor` reports about MySQL or MariaDB. */
export function examineMysql(location: StoreLocation): Promise<mysql.MysqlDiagnosis> {
  return withMysql(location, mysql.diagnose)
}

/** @throws UsageError for a store that is in no database. */
function isPostgres(url: string): boolean {
  const scheme = schemeOf(url)
  if (scheme === 'postgres' || scheme === 'postgresql') return true
  if (scheme === 'mysql' || scheme === 'mariadb') return false
  throw new UsageError(
    `The ${scheme} store needs no migration. Give --store the postgres: or mysql: URL of a database.`,
  )
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
