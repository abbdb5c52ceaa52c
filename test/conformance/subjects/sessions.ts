/** The session mode of the two databases as subjects: locks of a connection, without a table. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Subject } from 'holdfast/conformance'
import { mysqlStore } from 'holdfast/mysql'
import { postgresStore } from 'holdfast/postgres'
import { CAPACITY_ALL, type Claim, type Store } from 'holdfast/store'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'
import type { MariadbServer } from '@holdfast/servers/mariadb'
import type { PostgresServer } from '@holdfast/servers/postgres'
import type { Service } from '@holdfast/servers/service'
import { serverKillRounds } from '../../support/plan.js'
import { closing } from './closing.js'
import type { Library } from './postgres.js'

/** As many as the suite opens of different TTLs, and some to spare: each of them keeps one. */
const POOL = 6
const SHORT_MS = 450

function openPostgres(library: Library, url: string): Store {
  if (library === 'pg') {
    const pool = new Pool({ connectionString: url, max: POOL })
    pool.on('error', () => undefined)
    return closing(postgresStore({ pool, mode: 'session' }), () => pool.end())
  }
  const pool = postgres(url, { max: POOL, onnotice: () => undefined, backoff: () => 0.1 })
  return closing(postgresStore({ pool, mode: 'session' }), () => pool.end({ timeout: 1 }))
}

export function postgresSessionSubject(library: Library, server: PostgresServer): Subject {
  const open = (): Store => openPostgres(library, server.url)
  return subjectOf(`PostgreSQL in session mode, through ${library}`, server.service, open, [
    'postgres',
    library,
    server.url,
  ])
}

export function mysqlSessionSubject(server: MariadbServer): Subject {
  const open = (): Store => {
    const pool = createPool({ uri: server.url, connectionLimit: POOL })
    return closing(mysqlStore({ pool, mode: 'session' }), () => pool.end())
  }
  return subjectOf('MariaDB in session mode', server.service, open, ['mysql', 'mysql2', server.url])
}

function subjectOf(name: string, service: Service, open: () => Store, args: readonly string[]): Subject {
  const probe = open()
  void probe.close()
  return {
    name,
    traits: probe.traits,
    // Connected: the tests with a short patience are not about that.
    async open() {
      const store = open()
      await warm(store)
      return store
    },
    shortTtlMs: SHORT_MS,
    async restart() {
      await service.crash()
      await service.start()
    },
    worker: {
      command: process.execPath,
      args: [join(import.meta.dirname, '../workers/sessions.mjs'), ...args],
    },
    // Each round takes a second, the shortest that a session can be left silent.
    killRounds: Math.ceil(serverKillRounds() / 5),
    skip: [
      {
        reason:
          'a claim lives on the connection of the client that made it, and no other client can withdraw it',
        tests: ['an attempt and its withdraw in flight together leave the lock free'],
      },
    ],
  }
}

async function warm(store: Store): Promise<void> {
  const claim: Claim = {
    lock: 'warm',
    id: randomUUID(),
    kind: 'mutex',
    capacity: CAPACITY_ALL,
    weight: CAPACITY_ALL,
    ttlMs: SHORT_MS,
    heartbeatMs: SHORT_MS / 3,
    owner: { clientId: 'warm', host: 'conformance', pid: process.pid },
  }
  await store.attempt(claim, { enqueue: false, tokens: 1 })
  await store.withdraw(claim)
}
