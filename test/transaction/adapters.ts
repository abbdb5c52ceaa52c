/**
 * The libraries that stand above a driver, as kits. The locks themselves go through a pool of the
 * driver.
 */
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import {
  drizzleTransactions,
  knexTransactions,
  kyselyTransactions,
  prismaTransactions,
  typeormTransactions,
  type SqlTransaction,
  type TransactionalDatabase,
} from 'holdfast/transaction'
import { drizzle as drizzleMysql } from 'drizzle-orm/mysql2'
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { Kysely, MysqlDialect, PostgresDialect } from 'kysely'
import { createPool as createCallbackPool } from 'mysql2'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'
import { DataSource } from 'typeorm'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { known, POOL, type Kit } from './kits.js'
import { prismaFor } from './prisma.js'

type Db = TransactionalDatabase<SqlTransaction>

/** A database handle and how its pool is ended. */
interface Opened {
  readonly db: Db
  end(): Promise<unknown>
}

/** Every library over PostgreSQL, and over MariaDB. */
export async function adapterKits(): Promise<Kit[]> {
  const [pg, mysql] = await Promise.all([startPostgres(), startMysql()])
  pg.psql(postgresSchema())
  mysql.sql(mysqlSchema())
  const ends: (() => Promise<unknown>)[] = []
  const kit = (
    name: string,
    on: 'postgres' | 'mysql',
    open: () => Opened | Promise<Opened>,
  ): Kit => ({
    name: `${name}_${on}`,
    async client() {
      const { db, end } = await open()
      ends.push(end)
      if (on === 'mysql') {
        const pool = createPool({ uri: mysql.url, connectionLimit: POOL })
        ends.push(() => pool.end())
        return { store: mysqlStore({ pool }), db }
      }
      const pool = poolOf(pg.url)
      ends.push(() => pool.end())
      return { store: postgresStore({ pool }), db }
    },
    sql: (text) => void (on === 'mysql' ? mysql.sql(text) : pg.psql(text)),
    end: () => Promise.resolve(),
  })
  const kits = [
    kit('kysely', 'postgres', () => kyselyOn(pgDialect(pg.url))),
    kit('kysely', 'mysql', () => kyselyOn(mysqlDialect(mysql.url))),
    kit('drizzle_pg', 'postgres', () => drizzleOnPg(pg.url)),
    kit('drizzle_js', 'postgres', () => drizzleOnPostgresJs(pg.url)),
    kit('drizzle', 'mysql', () => drizzleOnMysql(mysql.url)),
    kit('knex', 'postgres', () => knexOn('pg', pg.url)),
    kit('knex', 'mysql', () => knexOn('mysql2', mysql.url)),
    kit('prisma', 'postgres', () => prismaOn('postgresql', pg.url)),
    kit('prisma', 'mysql', () => prismaOn('mysql', mysql.url)),
    kit('typeorm', 'postgres', () => typeormOn('postgres', pg.url)),
    kit('typeorm', 'mysql', () => typeormOn('mysql', mysql.url)),
  ]
  const end = async (): Promise<void> => {
    for (const one of ends.splice(0)) await one()
    await Promise.all([pg.remove(), mysql.remove()])
  }
  return kits.map((one, index) => (index === 0 ? { ...one, end } : one))
}

function poolOf(connectionString: string): Pool {
  const pool = new Pool({ connectionString, max: POOL })
  // A pool that was ended may still have a connection when the server goes.
  pool.on('error', () => undefined)
  return pool
}

function pgDialect(connectionString: string): PostgresDialect {
  const pool = poolOf(connectionString)
  // As the guide says: Kysely listens to no connection that it has in use.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return new PostgresDialect({ pool })
}

function mysqlDialect(uri: string): MysqlDialect {
  return new MysqlDialect({ pool: createCallbackPool({ uri, connectionLimit: POOL }) })
}

function kyselyOn(dialect: PostgresDialect | MysqlDialect): Opened {
  const db = new Kysely<Record<string, never>>({ dialect })
  return { db: known(kyselyTransactions(db)), end: () => db.destroy() }
}

function drizzleOnPg(connectionString: string): Opened {
  const pool = poolOf(connectionString)
  return { db: known(drizzleTransactions(drizzlePg(pool))), end: () => pool.end() }
}

function drizzleOnPostgresJs(url: string): Opened {
  const sql = postgres(url, { max: POOL, onnotice: () => undefined })
  return {
    db: known(drizzleTransactions(drizzlePostgresJs(sql))),
    end: () => sql.end({ timeout: 1 }),
  }
}

function drizzleOnMysql(uri: string): Opened {
  const pool = createPool({ uri, connectionLimit: POOL })
  return { db: known(drizzleTransactions(drizzleMysql(pool))), end: () => pool.end() }
}

function knexOn(client: 'pg' | 'mysql2', connection: string): Opened {
  const db = knex({ client, connection, pool: { min: 0, max: POOL } })
  return { db: known(knexTransactions(db)), end: () => db.destroy() }
}

function prismaOn(provider: 'postgresql' | 'mysql', url: string): Opened {
  const prisma = prismaFor(provider, url)
  return {
    db: known(prismaTransactions(prisma, { timeout: 20_000, maxWait: 20_000 })),
    end: () => prisma.$disconnect(),
  }
}

async function typeormOn(type: 'postgres' | 'mysql', url: string): Promise<Opened> {
  const ignored = { poolErrorHandler: () => undefined }
  const source = new DataSource({
    type,
    url,
    poolSize: POOL,
    ...(type === 'postgres' ? ignored : {}),
  })
  await source.initialize()
  return { db: known(typeormTransactions(source)), end: () => source.destroy() }
}
