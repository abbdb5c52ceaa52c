/** The databases and client libraries that transactions are tested with. */
import { mysqlSchema, mysqlStore, mysqlTransactions } from 'holdfast/mysql'
import { pgTransactions, postgresJsTransactions, postgresSchema, postgresStore } from 'holdfast/postgres'
import type { SqlTransaction } from 'holdfast/transaction'
import type { Store, TransactionalDatabase } from 'holdfast'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'
import { startMariadb } from '@holdfast/servers/mariadb'
import { startPostgres } from '@holdfast/servers/postgres'

export interface Kit {
  readonly name: string
  /** A client of the database, with a pool of its own. */
  client(): KitClient | Promise<KitClient>
  /** Ends the pools and the server. */
  end(): Promise<void>
}

export interface KitClient {
  readonly store: Store<true>
  readonly db: TransactionalDatabase<SqlTransaction>
}

const POOL = 4

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
    const pool = new Pool({ connectionString: server.url, max: POOL })
    pool.on('error', () => undefined)
    ends.push(() => pool.end())
    return { store: postgresStore({ pool }), db: known(pgTransactions(pool)) }
  }
  const postgresJs = (): KitClient => {
    const sql = postgres(server.url, { max: POOL, onnotice: () => undefined })
    ends.push(() => sql.end({ timeout: 1 }))
    return { store: postgresStore({ pool: sql }), db: known(postgresJsTransactions(sql)) }
  }
  return [
    { name: 'pg', client: pg, end },
    { name: 'postgres', client: postgresJs, end: () => Promise.resolve() },
  ]
}

export async function mysqlKits(): Promise<DriverKit[]> {
  const server = await startMariadb()
  server.sql(mysqlSchema())
  const ends: (() => Promise<unknown>)[] = []
  const client = (): KitClient => {
    const pool = createPool({ uri: server.url, connectionLimit: POOL })
    ends.push(() => pool.end())
    return { store: mysqlStore({ pool }), db: known(mysqlTransactions(pool)) }
  }
  const end = async (): Promise<void> => {
    for (const one of ends.splice(0)) await one()
    await server.remove()
  }
  return [{ name: 'mysql2', client, end }]
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
