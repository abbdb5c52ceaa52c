/** The PostgreSQL store as a subject, through one of the client libraries, on a private server. */
import { join } from 'node:path'
import type { Subject } from '@holdfast/conformance'
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import type { Store } from 'holdfast/store'
import { Pool } from 'pg'
import postgres from 'postgres'
import { raceCount, serverKillRounds } from '../../support/plan.js'
import type { PostgresServer } from '@holdfast/servers/postgres'
import { closing } from './closing.js'
import { SHORT_TTL_MS, SLACK_MS } from '../runner.js'

export type Library = 'pg' | 'postgres'

/** Each client has a pool of its own, as another process would have, and closes it. */
function openPostgres(library: Library, url: string): Store {
  const max = 4
  if (library === 'pg') {
    const pool = new Pool({ connectionString: url, max })
    // A server that is killed breaks idle connections. The pool makes new ones.
    pool.on('error', () => undefined)
    return closing(postgresStore({ pool }), () => pool.end())
  }
  const pool = postgres(url, { max, onnotice: () => undefined, backoff: () => 0.1 })
  return closing(postgresStore({ pool }), () => pool.end({ timeout: 1 }))
}

export function postgresSubject(library: Library, server: PostgresServer): Subject {
  server.psql(postgresSchema())
  const { url } = server
  const traitsOf = openPostgres(library, url)
  void traitsOf.close()
  return {
    name: `PostgreSQL through ${library}`,
    traits: traitsOf.traits,
    // Connected, since cases with a short request timeout must not wait for the connection.
    async open() {
      const store = openPostgres(library, url)
      await store.inspect({ lock: 'warm' })
      return store
    },
    shortTtlMs: SHORT_TTL_MS,
    slackMs: SLACK_MS,
    async restart() {
      await server.service.crash()
      await server.service.start()
    },
    worker: {
      command: process.execPath,
      args: [join(import.meta.dirname, '../workers/postgres.mjs'), library, url],
    },
    killRounds: serverKillRounds(),
    races: raceCount(),
  }
}
