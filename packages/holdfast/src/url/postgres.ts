/** `postgres:` URLs, through the package `pg`. `?schema=NAME` names the schema of the tables. */
import { accessSync, constants } from 'node:fs'
import type { PgPool } from '../stores/postgres/index.js'
import { loadClient } from './client-library.js'
import { databaseUrl } from './database-url.js'
import { settingsError } from './settings-error.js'

/** The modules that can serve these URLs. */
export const POSTGRES_CLIENTS = ['pg']

/** The default timeout of a request. */
const CONNECT_LIMIT_MS = 5_000

/** A pool that the caller owns, and the schema of the tables. */
export interface OwnPostgresPool {
  readonly pool: PgPool & { end(): Promise<void> }
  readonly schema?: string
}

interface Pg {
  readonly Pool: new (options: object) => OwnPostgresPool['pool'] & {
    on(event: 'error', listener: () => void): unknown
  }
}

/**
 * Makes the pool of a `postgres:` URL. It connects with the first request.
 * @param libraries a folder to load the client library from; see `openStore`
 */
export async function openPostgresPool(text: string, libraries?: string): Promise<OwnPostgresPool> {
  const { url, own: schema } = databaseUrl(text, 'schema')
  assertFiles(url)
  const { library } = await loadClient('postgres', POSTGRES_CLIENTS, libraries)
  const pool = new (library as Pg).Pool({
    connectionString: url,
    max: 2,
    application_name: 'holdfast',
    // Without it the library waits forever for a server that accepts and stays silent, also when
    // the pool ends.
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
  })
  // The pool replaces an idle connection that ended.
  pool.on('error', () => undefined)
  return { pool, ...(schema === undefined ? {} : { schema }) }
}

/**
 * The library reads these files when it connects, and its error would look like that of an
 * unreachable server.
 */
const FILES = ['sslcert', 'sslkey', 'sslrootcert']

function assertFiles(url: string): void {
  // `URL` refuses the form with a user and without a host, which names a socket.
  const options = new URLSearchParams(url.split('#', 1)[0]?.split('?')[1])
  for (const path of FILES.map((name) => options.get(name))) {
    if (path === null || path === '') continue
    try {
      accessSync(path, constants.R_OK)
    } catch (cause) {
      throw settingsError(`The file ${path}, which the PostgreSQL URL names, cannot be read.`, {
        cause,
      })
    }
  }
}
