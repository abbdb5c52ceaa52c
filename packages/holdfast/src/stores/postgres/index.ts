/**
 * `holdfast/postgres`: locks in PostgreSQL, through the pool of `pg` or `postgres` that the program has anyway.
 */
import type { Store } from '../../store/contract.js'
import { checkRequestTimeout } from '../sql/options.js'
import { SqlStore } from '../sql/store.js'
import { checkMode, SessionStore } from '../session/store.js'
import { clientOf, isPostgresJs, type PgPool, type PostgresJs } from './clients.js'
import { PostgresDatabase } from './database.js'
import { DEFAULT_SCHEMA, quoteSchema } from './schema.js'
import { pgSource, postgresJsSource, PostgresSessionPort } from './session/port.js'

export type { PgPool, PostgresJs } from './clients.js'
export { diagnose, type PostgresDiagnosis } from './diagnose.js'
export { migratePostgres } from './migrate.js'
export { postgresSchema } from './schema.js'
export { pgTransactions } from '../../transaction/libraries/pg.js'
export { postgresJsTransactions } from '../../transaction/libraries/postgres-js.js'

export interface PostgresStoreOptions {
  /** Left out: locks are rows in tables. */
  readonly mode?: undefined
  /** `new pg.Pool(…)` or `postgres(…)`. It is never closed by the store. */
  readonly pool: PgPool | PostgresJs
  /** The schema with the tables. Programs that are to exclude each other must use the same one. Default `holdfast`. */
  readonly schema?: string
  /** Make the schema when it is missing. Default false: run the SQL of `postgresSchema()` once instead. */
  readonly autoMigrate?: boolean
  /** How long to wait for an answer before the outcome counts as unknown, in milliseconds. Default 5 000. */
  readonly requestTimeoutMs?: number
}

/** Locks by `pg_advisory_lock`, which need no table. */
export interface PostgresSessionOptions extends Pick<PostgresStoreOptions, 'pool' | 'requestTimeoutMs'> {
  readonly mode: 'session'
}

/**
 * Makes a store in a PostgreSQL database. Nothing is sent until it is used. It takes up to four connections of the pool
 * at a time, and one of its own, to listen, once somebody waits.
 *
 * With `mode: 'session'` locks are advisory locks of a session: mutexes and readers-writer locks without a queue and without
 * tokens, on one connection for each TTL, beside the pool of `pg` or out of that of `postgres`.
 * @throws LockUsageError when an option is not what it should be.
 */
export function postgresStore(options: PostgresSessionOptions): Store<false>
export function postgresStore(options: PostgresStoreOptions): Store<true>
export function postgresStore(options: PostgresStoreOptions | PostgresSessionOptions): Store {
  const { pool, requestTimeoutMs = 5000 } = options
  checkRequestTimeout(requestTimeoutMs, 'postgres')
  const client = clientOf(pool)
  if (options.mode !== undefined) return sessionStore(options, requestTimeoutMs)
  const { schema = DEFAULT_SCHEMA, autoMigrate = false } = options
  quoteSchema(schema)
  return new SqlStore(new PostgresDatabase({ client, schema, autoMigrate, requestTimeoutMs }))
}

function sessionStore({ pool, mode }: PostgresSessionOptions, requestTimeoutMs: number): Store<false> {
  checkMode(mode, 'postgres')
  const source = isPostgresJs(pool) ? postgresJsSource(pool) : pgSource(pool)
  return new SessionStore(new PostgresSessionPort(source), requestTimeoutMs)
}
