/** `holdfast/postgres`: locks in PostgreSQL, through the program's pool of `pg` or `postgres`. */
import { systemClock } from '../../clock/clock.js'
import type { Store } from '../../store/contract.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import { checkRequestTimeout } from '../sql/options.js'
import { SqlStore } from '../sql/store.js'
import { clientOf } from './connection/clients.js'
import { PostgresDatabase } from './service.js'
import type { PgPool, PostgresJs } from './connection/pools.js'
import { DEFAULT_SCHEMA, quoteSchema } from './rule/schema.js'

export type { PgPool, PostgresJs } from './connection/pools.js'
export { migratePostgres } from './connection/migrate.js'
export { postgresSchema } from './rule/schema.js'
export { pgTransactions } from '../../transaction/libraries/pg.js'
export { postgresJsTransactions } from '../../transaction/libraries/postgres-js.js'

/** Where the state of a store in PostgreSQL is kept. */
export interface PostgresStoreOptions {
  /** `new pg.Pool(…)` or `postgres(…)`. The store never closes it. */
  readonly pool: PgPool | PostgresJs
  /** The schema of the tables. Programs that share locks must use the same. Default `holdfast`. */
  readonly schema?: string | undefined
  /**
   * Create the schema if it is missing. Default false: run `holdfast migrate` or the SQL of
   * `postgresSchema()` once instead.
   */
  readonly autoMigrate?: boolean | undefined
  /**
   * How long to wait for an answer before the outcome counts as unknown, in milliseconds.
   * Default 5000.
   */
  readonly requestTimeoutMs?: number | undefined
}

const KEYS: KnownKeys<PostgresStoreOptions> = {
  pool: 1,
  schema: 1,
  autoMigrate: 1,
  requestTimeoutMs: 1,
}

/**
 * Returns a store in a PostgreSQL database. It sends nothing until it is used. It takes up to four
 * connections of the pool at a time. It opens one of its own when a waiter first waits, or when all
 * connections of the pool are in use.
 * @throws LockUsageError for an invalid option.
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  checkKeys('postgresStore', options, KEYS, { store: 'postgres' })
  const { pool, schema = DEFAULT_SCHEMA, autoMigrate = false, requestTimeoutMs = 5000 } = options
  checkRequestTimeout(requestTimeoutMs, 'postgres')
  const client = clientOf(pool)
  quoteSchema(schema)
  const clock = systemClock
  return new SqlStore(
    new PostgresDatabase({ client, schema, autoMigrate, requestTimeoutMs, clock }),
  )
}
