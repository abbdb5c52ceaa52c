/**
 * `holdfast/postgres`: locks in PostgreSQL, through the pool of `pg` or `postgres` that the program
 * has anyway.
 */
import type { Store } from '../../store/contract.js'
import { checkRequestTimeout, refuseMode } from '../sql/options.js'
import { SqlStore } from '../sql/store.js'
import { clientOf } from './clients.js'
import { PostgresDatabase } from './database.js'
import type { PgPool, PostgresJs } from './pools.js'
import { DEFAULT_SCHEMA, quoteSchema } from './schema.js'

export type { PgPool, PostgresJs } from './pools.js'
export { diagnose, type PostgresDiagnosis } from './diagnose.js'
export { migratePostgres } from './migrate.js'
export { postgresSchema } from './schema.js'
export { pgTransactions } from '../../transaction/libraries/pg.js'
export { postgresJsTransactions } from '../../transaction/libraries/postgres-js.js'

export interface PostgresStoreOptions {
  /** `new pg.Pool(…)` or `postgres(…)`. It is never closed by the store. */
  readonly pool: PgPool | PostgresJs
  /**
   * The schema with the tables. Programs that are to exclude each other must use the same one.
   * Default `holdfast`.
   */
  readonly schema?: string
  /**
   * Make the schema when it is missing. Default false: run the SQL of `postgresSchema()` once
   * instead.
   */
  readonly autoMigrate?: boolean
  /**
   * How long to wait for an answer before the outcome counts as unknown, in milliseconds. Default 5
   * 000.
   */
  readonly requestTimeoutMs?: number
}

/**
 * Makes a store in a PostgreSQL database. Nothing is sent until it is used. It takes up to four
 * connections of the pool at a time, and one of its own, to listen, once somebody waits.
 * @throws LockUsageError when an option is not what it should be.
 */
export function postgresStore(options: PostgresStoreOptions): Store<true> {
  refuseMode(options, 'postgres')
  const { pool, schema = DEFAULT_SCHEMA, autoMigrate = false, requestTimeoutMs = 5000 } = options
  checkRequestTimeout(requestTimeoutMs, 'postgres')
  const client = clientOf(pool)
  quoteSchema(schema)
  return new SqlStore(new PostgresDatabase({ client, schema, autoMigrate, requestTimeoutMs }))
}
