/** The two databases, with a clock that the test sets. */
import { postgresStore } from 'holdfast/postgres'
import type { AttemptResult, Claim, Store } from 'holdfast/store'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { makeClaim } from '../support/claims.js'
import { clockedMysql, clockedPostgres } from './clocked.js'
import { clockedMysqlStore } from '../../packages/holdfast/test/mysql/support/clocked-store.js'

export interface Connection {
  run(sql: string): Promise<unknown>
  end(): void
}

export interface Kit {
  readonly name: string
  readonly store: Store
  /** What stands before the names of tables. */
  readonly prefix: string
  /** How a statement locks a guard for its transaction. */
  readonly sharing: string
  setClock(ms: number): Promise<unknown>
  ask(sql: string): string
  purge(days: number): number
  connect(): Promise<Connection>
  /**
   * How many sessions wait for a row. MariaDB renews its list only if no session has read it for
   * 100 ms.
   */
  blocked(): number
}

export interface Kits {
  readonly kits: readonly Kit[]
  stop(): Promise<void>
}

export async function startKits(): Promise<Kits> {
  const postgres = await startPostgres()
  const pgPool = new Pool({ connectionString: postgres.url, max: 3 })
  pgPool.on('error', () => undefined)
  postgres.psql(clockedPostgres().sql)
  const mysql = await startMysql()
  const mysqlPool = createPool({ uri: mysql.url, connectionLimit: 3 })
  mysql.sql(clockedMysql())

  const kits: Kit[] = [
    {
      name: 'postgres',
      store: postgresStore({ pool: pgPool, schema: 'played' }),
      prefix: 'played.',
      sharing: 'for share',
      setClock: (ms) => pgPool.query(clockedPostgres().set, [ms]),
      ask: (sql) => postgres.psql(sql),
      purge: (days) => Number(postgres.psql(`select played.purge_locks_v1('${days} days')`)),
      async connect() {
        const client = await pgPool.connect()
        return { run: (sql) => client.query(sql), end: () => client.release() }
      },
      blocked: () =>
        Number(
          postgres.psql(`select count(*) from pg_stat_activity where wait_event_type = 'Lock'`),
        ),
    },
    {
      name: 'mysql',
      ...clockedMysqlStore(mysqlPool),
      prefix: 'played_',
      sharing: 'lock in share mode',
      ask: (sql) => mysql.sql(sql),
      purge: (days) => Number(mysql.sql(`call played_purge_locks_v1(${days}, 1000)`)),
      async connect() {
        const connection = await mysqlPool.getConnection()
        return { run: (sql) => connection.query(sql), end: () => connection.release() }
      },
      blocked: () =>
        Number(
          mysql.sql(
            `select count(*) from information_schema.innodb_trx where trx_state = 'LOCK WAIT'`,
          ),
        ),
    },
  ]

  return {
    kits,
    async stop() {
      for (const { store } of kits) await store.close()
      await Promise.all([pgPool.end(), mysqlPool.end()])
      await Promise.all([postgres.remove(), mysql.remove()])
    },
  }
}

export function claim(lock: string, id: string, ttlMs = 1000): Claim {
  return makeClaim(lock, { id, ttlMs, heartbeatMs: 300 })
}

/** @throws Error when nothing was granted. */
export function tokenOf(result: AttemptResult): bigint {
  if (result.outcome !== 'granted' || result.token === undefined)
    throw new Error(`It was ${result.outcome}.`)
  return result.token
}
