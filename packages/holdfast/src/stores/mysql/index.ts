/**
 * `holdfast/mysql`: locks in MariaDB or MySQL, through the pool of `mysql2` that the program has
 * anyway.
 */
import type { Store } from '../../store/contract.js'
import { checkRequestTimeout, refuseMode } from '../sql/options.js'
import { SqlStore } from '../sql/store.js'
import { poolOf, type MysqlCallbackPool, type MysqlPool } from './clients.js'
import { MysqlDatabase } from './database.js'
import { checkPrefix, DEFAULT_PREFIX } from './schema.js'

export type { MysqlCallbackPool, MysqlPool } from './clients.js'
export { diagnose, type MysqlDiagnosis } from './diagnose.js'
export { migrateMysql } from './migrate.js'
export { mysqlSchema } from './schema.js'
export { mysqlTransactions } from '../../transaction/libraries/mysql2.js'

export interface MysqlStoreOptions {
  /** `createPool(…)` of `mysql2/promise` or of `mysql2`. It is never closed by the store. */
  readonly pool: MysqlPool | MysqlCallbackPool
  /**
   * What the names of tables and procedures begin with: lower-case letters, digits and underscores.
   * Programs that are to exclude each other must use the same one. Default `holdfast_`.
   */
  readonly prefix?: string
  /**
   * Make tables and procedures when they are missing. Default false: run the SQL of `mysqlSchema()`
   * once instead.
   */
  readonly autoMigrate?: boolean
  /**
   * How long to wait for an answer before the outcome counts as unknown, in milliseconds. Default 5
   * 000.
   */
  readonly requestTimeoutMs?: number
}

/**
 * Makes a store in a MariaDB or MySQL database. Nothing is sent until it is used. It takes up to
 * four connections of the pool at a time, and keeps one more of them while somebody waits. All
 * clients must connect as the same user, since they interrupt each other's sleep.
 * @throws LockUsageError when an option is not what it should be.
 */
export function mysqlStore(options: MysqlStoreOptions): Store<true> {
  refuseMode(options, 'mysql')
  const { pool, prefix = DEFAULT_PREFIX, autoMigrate = false, requestTimeoutMs = 5000 } = options
  checkRequestTimeout(requestTimeoutMs, 'mysql')
  checkPrefix(prefix)
  return new SqlStore(
    new MysqlDatabase({ pool: poolOf(pool), prefix, autoMigrate, requestTimeoutMs }),
  )
}
