/** A store in MySQL on the clock of a test. */
import type { Pool } from 'mysql2/promise'
import type { Store } from 'holdfast/store'
import { systemClock } from '../../../dist/clock/clock.js'
import { MysqlDatabase } from '../../../dist/stores/mysql/service.js'
import type { MysqlConnection, Statement } from '../../../dist/stores/mysql/connection/clients.js'
import { SqlStore } from '../../../dist/stores/sql/store.js'

/** The time in the SQL of the store, and what the tests put in its place. */
export const MYSQL_NOW = /timestampdiff\(microsecond, '1970-01-01', utc_timestamp\(6\)\)/g
export const MYSQL_CLOCK = '(select at_us from played_clock)'

export interface ClockedMysqlStore {
  readonly store: Store
  /** Sets the clock in milliseconds since the Unix epoch. */
  setClock(ms: number): Promise<void>
}

/**
 * Returns a store with the prefix `played_`, whose schema has the clock above. The statements that
 * it sends read that clock too, and what it remembers ends by it.
 */
export function clockedMysqlStore(pool: Pool): ClockedMysqlStore {
  let nowMs = 0
  const database = new MysqlDatabase({
    pool: { getConnection: async () => clocked(await pool.getConnection()) },
    prefix: 'played_',
    autoMigrate: false,
    requestTimeoutMs: 5000,
    clock: { ...systemClock, monotonicMs: () => nowMs },
  })
  return {
    store: new SqlStore(database),
    async setClock(ms) {
      nowMs = ms
      await pool.execute('update played_clock set at_us = ? * 1000', [ms])
    },
  }
}

function clocked(connection: MysqlConnection): MysqlConnection {
  return {
    query: (of) => connection.query(onClock(of)),
    execute: (of) => connection.execute(onClock(of)),
    release: () => connection.release(),
    destroy: () => connection.destroy(),
  }
}

function onClock(of: Statement): Statement {
  return { ...of, sql: of.sql.replaceAll(MYSQL_NOW, MYSQL_CLOCK) }
}
