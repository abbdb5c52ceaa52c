/** `mysql:` URLs, through the package `mysql2`. `?prefix=NAME_` begins the names of the tables. */
import {
  diagnose,
  migrateMysql,
  mysqlSchema,
  mysqlStore,
  type MysqlDiagnosis,
} from 'holdfast/mysql'
import type { Store } from 'holdfast/store'
import type { Pool } from 'mysql2/promise'
import { ConfigError, UsageError } from '../cli-error.js'
import { closing } from './closing.js'
import { isMissing, sqlUrl } from './sql-url.js'
import { shownOption } from './url-secrets.js'

export async function open(text: string): Promise<Store> {
  const { url, own: prefix } = sqlUrl(text, 'prefix')
  const pool = await connect(url)
  return closing(mysqlStore({ pool, ...(prefix === undefined ? {} : { prefix }) }), () =>
    pool.end(),
  )
}

/** Returns the SQL that creates the tables and procedures. */
export function script(text: string): string {
  return mysqlSchema(sqlUrl(text, 'prefix').own)
}

/** Creates the tables and procedures. */
export async function migrate(text: string): Promise<void> {
  const { url, own } = sqlUrl(text, 'prefix')
  const pool = await connect(url)
  try {
    await migrateMysql(pool, own)
  } finally {
    await pool.end()
  }
}

/** Returns the facts that `doctor` reports about the database. */
export async function examine(text: string): Promise<MysqlDiagnosis> {
  const { url, own: prefix } = sqlUrl(text, 'prefix')
  const pool = await connect(url)
  try {
    return await diagnose({ pool, ...(prefix === undefined ? {} : { prefix }) })
  } finally {
    await pool.end()
  }
}

async function connect(uri: string): Promise<Pool> {
  refuseForeignTls(uri)
  const { createPool } = await load()
  try {
    return createPool({ uri, connectionLimit: 3 })
  } catch (error) {
    throw refused(error as Error)
  }
}

/**
 * Refuses the TLS options of other programs. The library ignores them, and would connect without
 * encryption.
 */
function refuseForeignTls(uri: string): void {
  const options = new URL(uri).searchParams
  const foreign = [...options.keys()].find(
    (name) => name !== 'ssl' && /^(?:use)?(?:ssl|tls)/i.test(name),
  )
  if (foreign === undefined) return
  throw new UsageError(
    `The URL of MySQL has ${shownOption(foreign, options)}, which the package "mysql2" ignores. Write ssl={} for an encrypted connection to a server with a known certificate, or ssl={"rejectUnauthorized":false} for one with any.`,
  )
}

/**
 * Returns the error for a URL that the library refuses. Its own text quotes the option, which may
 * contain a key and its password.
 */
function refused(error: Error): UsageError {
  if (error instanceof URIError) {
    return new UsageError('The URL of MySQL has a % that starts no escape; write it as %25.')
  }
  const reason = error.message.includes('{') ? 'the option ssl is no JSON' : error.message
  return new UsageError(
    `The URL of MySQL has an option that the package "mysql2" refuses: ${reason}. Correct it, or leave it out.`,
  )
}

async function load(): Promise<typeof import('mysql2/promise')> {
  try {
    return await import('mysql2/promise')
  } catch (error) {
    if (!isMissing(error, 'mysql2')) throw error
    throw new ConfigError('mysql: URLs need the package "mysql2". Run: npm install mysql2', {
      cause: error,
    })
  }
}
