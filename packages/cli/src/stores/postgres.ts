/** `postgres:` URLs, through the package `pg`. `?schema=NAME` names the schema of the tables. */
import { accessSync, constants } from 'node:fs'
import {
  diagnose,
  migratePostgres,
  postgresSchema,
  postgresStore,
  type PostgresDiagnosis,
} from 'holdfast/postgres'
import type { Store } from 'holdfast/store'
import type { Pool } from 'pg'
import { ConfigError } from '../cli-error.js'
import { closing } from './closing.js'
import { isMissing, sqlUrl } from './sql-url.js'

/** The default timeout of a request. */
const CONNECT_LIMIT_MS = 5_000

export async function open(text: string): Promise<Store> {
  const { url, own: schema } = sqlUrl(text, 'schema')
  const pool = await connect(url)
  return closing(postgresStore({ pool, ...(schema === undefined ? {} : { schema }) }), () =>
    pool.end(),
  )
}

/** Returns the SQL that creates the schema. */
export function script(text: string): string {
  return postgresSchema(sqlUrl(text, 'schema').own)
}

/** Creates the schema, in one transaction. */
export async function migrate(text: string): Promise<void> {
  const { url, own } = sqlUrl(text, 'schema')
  const pool = await connect(url)
  try {
    await migratePostgres(pool, own)
  } finally {
    await pool.end()
  }
}

/** Returns the facts that `doctor` reports about the database. */
export async function examine(text: string): Promise<PostgresDiagnosis> {
  const { url, own: schema } = sqlUrl(text, 'schema')
  const pool = await connect(url)
  try {
    return await diagnose({ pool, ...(schema === undefined ? {} : { schema }) })
  } finally {
    await pool.end()
  }
}

/**
 * The library reads these files when it connects, and its error would look like that of an
 * unreachable server.
 */
const FILES = ['sslcert', 'sslkey', 'sslrootcert']

function assertFiles(url: string): void {
  const options = new URL(url).searchParams
  for (const path of FILES.map((name) => options.get(name))) {
    if (path === null || path === '') continue
    try {
      accessSync(path, constants.R_OK)
    } catch (cause) {
      throw new ConfigError(`The file ${path}, which the PostgreSQL URL names, cannot be read.`, {
        cause,
      })
    }
  }
}

async function connect(connectionString: string): Promise<Pool> {
  assertFiles(connectionString)
  const { Pool } = await load()
  const pool = new Pool({
    connectionString,
    max: 2,
    application_name: 'holdfast',
    // Without it the library waits forever for a server that accepts and stays silent, also when
    // the pool ends.
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
  })
  // The pool replaces an idle connection that ended.
  pool.on('error', () => undefined)
  return pool
}

async function load(): Promise<typeof import('pg')> {
  try {
    return await import('pg')
  } catch (error) {
    if (!isMissing(error, 'pg')) throw error
    throw new ConfigError('postgres: URLs need the package "pg". Run: npm install pg', {
      cause: error,
    })
  }
}
