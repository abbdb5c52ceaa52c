/** The databases and client libraries that transactions are tested with. */
import { mysqlSchema, mysqlStore, mysqlTransactions } from 'holdfast/mysql'
import {
  pgTransactions,
  postgresJsTransactions,
  postgresSchema,
  postgresStore,
} from 'holdfast/postgres'
import type { SqlTransaction } from 'holdfast/transaction'
import type { Store, TransactionalDatabase } from 'holdfast'
import { createPool, type Pool, type PoolConnection } from 'mysql2/promise'
import { Pool as PgPool } from 'pg'
import postgres from 'postgres'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'

export interface Kit {
  readonly name: string
  /** A client of the database, with a pool of its own. */
  client(): KitClient | Promise<KitClient>
  /** Runs SQL outside of every transaction, as MySQL needs for CREATE TABLE. */
  sql(text: string): void
  /** Ends the pools and the server. */
  end(): Promise<void>
}

export interface KitClient {
  readonly store: Store
  readonly db: TransactionalDatabase<SqlTransaction>
}

/** How many connections each pool has. */
export const POOL = 4

/** A kit whose client is there at once. */
export interface DriverKit extends Kit {
  client(): KitClient
}

export async function postgresKits(): Promise<DriverKit[]> {
  const server = await startPostgres()
  server.psql(postgresSchema())
  const ends: (() => Promise<unknown>)[] = []
  const end = async (): Promise<void> => {
    for (const one of ends.splice(0)) await one()
    await server.remove()
  }
  const pg = (): KitClient => {
    const pool = new PgPool({ connectionString: server.url, max: POOL })
    pool.on('error', () => undefined)
    ends.push(() => pool.end())
    return { store: postgresStore({ pool }), db: known(pgTransactions(pool)) }
  }
  const postgresJs = (): KitClient => {
    const sql = postgres(server.url, { max: POOL, onnotice: () => undefined })
    ends.push(() => sql.end({ timeout: 1 }))
    return { store: postgresStore({ pool: sql }), db: known(postgresJsTransactions(sql)) }
  }
  const sql = (text: string): void => void server.psql(text)
  return [
    { name: 'pg', client: pg, sql, end },
    { name: 'postgres', client: postgresJs, sql, end: () => Promise.resolve() },
  ]
}

/** @param byHand whether to add a kit whose database is an object of the caller's own */
export async function mysqlKits({ byHand = false } = {}): Promise<DriverKit[]> {
  const server = await startMysql()
  server.sql(mysqlSchema())
  const ends: (() => Promise<unknown>)[] = []
  const client = (handle: (pool: Pool) => KitClient['db']) => (): KitClient => {
    const pool = createPool({ uri: server.url, connectionLimit: POOL })
    ends.push(() => pool.end())
    return { store: mysqlStore({ pool }), db: handle(pool) }
  }
  const sql = (text: string): void => void server.sql(text)
  const end = async (): Promise<void> => {
    for (const one of ends.splice(0)) await one()
    await server.remove()
  }
  const kit = { name: 'mysql2', client: client((pool) => known(mysqlTransactions(pool))), sql, end }
  const own = { name: 'by_hand', client: client(madeByHand), sql, end: () => Promise.resolve() }
  return byHand ? [kit, own] : [kit]
}

/** What a caller writes for a library that Holdfast does not know. */
function madeByHand(pool: Pool): KitClient['db'] {
  const db: TransactionalDatabase<PoolConnection> = {
    dialect: 'mysql',
    async transaction(work) {
      const connection = await pool.getConnection()
      try {
        await connection.beginTransaction()
        const result = await work(connection)
        await connection.commit()
        return result
      } catch (error) {
        await connection.rollback()
        throw error
      } finally {
        connection.release()
      }
    },
    async query(tx, sql, values) {
      const [rows] = await tx.query(sql, [...values])
      return Array.isArray(rows) ? rows : []
    },
  }
  return known(db)
}

/** Each library's own type of a transaction, as one that the tests share. */
export function known<Tx extends SqlTransaction>(
  db: TransactionalDatabase<Tx>,
): TransactionalDatabase<SqlTransaction> {
  return {
    dialect: db.dialect,
    transaction: (work) => db.transaction(work),
    query: (tx, sql, values) => db.query(tx as Tx, sql, values),
  }
}
