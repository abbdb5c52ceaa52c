/** `mysql:` URLs, through the package `mysql2`. `?prefix=NAME_` begins the names of the tables. */
import { LockUsageError } from '../errors.js'
import type { MysqlPool } from '../stores/mysql/index.js'
import { loadClient } from './client-library.js'
import { databaseUrl } from './database-url.js'

/** The modules that can serve these URLs. */
export const MYSQL_CLIENTS = ['mysql2/promise']

/** A pool that the caller owns, and the prefix of the tables. */
export interface OwnMysqlPool {
  readonly pool: MysqlPool & { end(): Promise<void> }
  readonly prefix?: string
}

interface Mysql2 {
  createPool(options: object): OwnMysqlPool['pool']
}

/**
 * Makes the pool of a `mysql:` URL. It connects with the first request.
 * @param libraries a folder to load the client library from; see `openStore`
 */
export async function openMysqlPool(text: string, libraries?: string): Promise<OwnMysqlPool> {
  const { url: uri, own: prefix } = databaseUrl(text, 'prefix')
  const { library } = await loadClient('mysql', MYSQL_CLIENTS, libraries)
  try {
    const pool = (library as Mysql2).createPool({ uri, connectionLimit: 3 })
    return { pool, ...(prefix === undefined ? {} : { prefix }) }
  } catch (error) {
    throw refused(error as Error)
  }
}

/**
 * Returns the error for a URL that the library refuses. Its own text quotes the option, which may
 * contain a key and its password.
 */
function refused(error: Error): LockUsageError {
  if (error instanceof URIError) {
    return new LockUsageError('The URL of MySQL has a % that starts no escape; write it as %25.')
  }
  const reason = error.message.includes('{') ? 'the option ssl is no JSON' : error.message
  return new LockUsageError(
    `The URL of MySQL has an option that the package "mysql2" refuses: ${reason}. Correct it, or leave it out.`,
  )
}
