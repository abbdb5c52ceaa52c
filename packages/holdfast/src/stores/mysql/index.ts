/** `holdfast/mysql`: locks in MariaDB or MySQL, through the program's own pool of `mysql2`. */
import { systemClock } from '../../clock/clock.js'
import type { Store } from '../../store/contract.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import { checkRequestTimeout } from '../sql/options.js'
import { SqlStore } from '../sql/store.js'
import { poolOf, type MysqlCallbackPool, type MysqlPool } from './connection/clients.js'
import { MysqlDatabase } from './service.js'
import { checkPrefix, DEFAULT_PREFIX } from './rule/schema.js'

export type { MysqlCallbackPool, MysqlPool } from './connection/clients.js'
export { migrateMysql } from './connection/migrate.js'
export { mysqlSchema } from './rule/schema.js'
export { mysqlTransactions } from '../../transaction/libraries/mysql2.js'

/** Where the state of a store in MySQL or MariaDB is kept. */
export interface MysqlStoreOptions {
  /** `createPool(…)` of `mysql2/promise` or of `mysql2`. The store never closes it. */
  readonly pool: MysqlPool | MysqlCallbackPool
  /**
   * The prefix of tables and procedures: lower-case letters, digits and underscores. Programs that
   * share locks must use the same prefix. Default `holdfast_`.
   */
  readonly prefix?: string | undefined
  /**
   * Create tables and procedures if they are missing. Default false: run `holdfast migrate` or the
   * SQL of `mysqlSchema()` once instead.
   */
  readonly autoMigrate?: boolean | undefined
  /**
   * How long to wait for an answer before the outcome counts as unknown, in milliseconds.
   * Default 5000.
   */
  readonly requestTimeoutMs?: number | undefined
}

const KEYS: KnownKeys<MysqlStoreOptions> = {
  pool: 1,
  prefix: 1,
  autoMigrate: 1,
  requestTimeoutMs: 1,
}

/**
 * Returns a store in a MariaDB or MySQL database. It sends nothing until it is used. It takes up to
 * four connections of the pool at a time, and one more while a waiter waits. All clients must
 * connect as the same database user, since they wake each other by KILL QUERY.
 * @throws LockUsageError for an invalid option.
 */
export function mysqlStore(options: MysqlStoreOptions): Store {
  checkKeys('mysqlStore', options, KEYS, { store: 'mysql' })
  const { pool, prefix = DEFAULT_PREFIX, autoMigrate = false, requestTimeoutMs = 5000 } = options
  checkRequestTimeout(requestTimeoutMs, 'mysql')
  checkPrefix(prefix)
  return new SqlStore(
    new MysqlDatabase({
      pool: poolOf(pool),
      prefix,
      autoMigrate,
      requestTimeoutMs,
      clock: systemClock,
    }),
  )
}
