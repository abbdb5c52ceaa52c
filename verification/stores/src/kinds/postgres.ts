/** One PostgreSQL. */
import { NEWEST_POSTGRES, startPostgres, type PostgresServer } from '@holdfast/servers/postgres'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import {
  USUAL,
  type LoadModule,
  type OpenOptions,
  type OpenStore,
  type StoreDescriptor,
} from '../descriptor.js'
import { needsClock, ServerClock } from '../faults/clock.js'
import { everywhere } from '../faults/promises.js'
import { nodeOf, type Action, type Target } from '../faults/target.js'
import { hostsOf, type Connection } from '../connection.js'
import { connected, ofMembers } from '../service.js'
import { borrowInTurn, leaveTransactions } from '../sql/careless.js'
import { SQL } from '../sql/promises.js'
import { clockSteps, RECONNECT_MS } from '../sql/step-clock.js'

export const store: StoreDescriptor = {
  name: 'postgres',
  title: 'PostgreSQL',
  order: 70,
  service: {
    libraries: { daily: ['pg'], others: ['postgres'] },
    needs: [['/usr/lib/postgresql/*/bin/postgres', 'postgresql']],
    newest: [NEWEST_POSTGRES],
    async start({ empty = false, crowded = false } = {}) {
      const settings = { max_connections: '300' }
      const server = await startPostgres(crowded ? { settings } : {})
      const { postgresSchema } = await import('holdfast/postgres')
      if (!empty) server.psql(postgresSchema())
      return {
        ...ofMembers([server.url], [server.service], () => server.remove()),
        version: async () => server.psql('show server_version'),
        cut: () =>
          server.ask(
            'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()',
          ),
      }
    },
    open: openPostgres,
  },
  suite: {},
  besidePreviousMs: 1500,
  samples: ([url = '']) => ({ env: { DATABASE_URL: url } }),
  torture: {
    ...USUAL,
    ttlMs: 2000,
    boundMs: 9000,
    promises: everywhere(SQL),
    start: ({ kinds }) => postgresTarget(needsClock(kinds)),
    open: (connection, index, load) => openCarelessly(urlOf(connection), index, load),
    url: urlOf,
  },
}

function urlOf(connection: Connection): string {
  return `postgres://postgres@${hostsOf(connection)}/postgres`
}

async function openPostgres(
  [url = '']: readonly string[],
  { library, load, migrate = false }: OpenOptions,
): Promise<OpenStore> {
  const { postgresStore } = await load<typeof import('holdfast/postgres')>('postgres')
  const max = 4
  if (library === 'pg') {
    const { Pool } = (await import('pg')).default
    const pool = new Pool({ connectionString: url, max })
    // A server that is killed breaks idle connections. The pool makes new ones.
    pool.on('error', () => undefined)
    return connected(postgresStore({ pool, autoMigrate: migrate }), () => pool.end())
  }
  const { default: postgres } = await import('postgres')
  const quiet = { onnotice: () => undefined, backoff: () => 0.1, fetch_types: false }
  const pool = postgres(url, { max, ...quiet })
  const end = (): Promise<void> => pool.end({ timeout: 1 })
  return connected(postgresStore({ pool, autoMigrate: migrate }), end)
}

/** With its commits on the disk. */
async function postgresTarget(clocks: boolean): Promise<Target> {
  const clock = clocks ? new ServerClock() : undefined
  const server = await startPostgres({ durable: true, ...(clock ? { env: clock.env } : {}) })
  const { postgresSchema } = await import('holdfast/postgres')
  server.psql(postgresSchema())
  return {
    nodes: [
      {
        ...nodeOf('postgres', server.port, server.service),
        // Each connection has a process, which would go on.
        signal: (signal) => server.service.killFamily(signal),
      },
    ],
    connection: (ports) => ({ ports }),
    actions: { ...clockSteps(clock), 'endpoint-moves': movesOf(server) },
    // Before the first write of a store this is a wrong setting.
    tolerated: { 'endpoint-moves': ['STORE_CONFIG'] },
    async stop() {
      await server.remove()
      clock?.remove()
    },
  }
}

/**
 * One server plays both: sessions that exist are read-only, and those that are opened after the
 * move are not. It begins with new sessions only, since those of an earlier move would take writes.
 */
function movesOf(server: PostgresServer): Action {
  const alterRole = (what: string): Promise<unknown> =>
    server.ask(`set transaction read write; alter role postgres ${what}`)
  const setAll = async (value: 'on' | 'off'): Promise<void> => {
    await server.ask(`alter system set default_transaction_read_only = ${value}`)
    await server.ask('select pg_reload_conf()')
  }
  return async () => {
    await setAll('off')
    await alterRole('reset default_transaction_read_only')
    await server.ask(
      "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
    )
    await sleep(RECONNECT_MS)
    await setAll('on')
    return async () => void (await alterRole('set default_transaction_read_only = off'))
  }
}

/** In a program that also leaves connections of the pool inside of transactions. */
async function openCarelessly(url: string, index: number, load: LoadModule): Promise<OpenStore> {
  const { postgresStore } = await load<typeof import('holdfast/postgres')>('postgres')
  if (index % 2 === 0) {
    const { Pool } = (await import('pg')).default
    const pool = new Pool({ connectionString: url, max: 6 })
    // A server that ends takes idle connections with it; the pool makes new ones.
    pool.on('error', () => undefined)
    const heard = new WeakSet<object>()
    const borrow = (): Promise<PoolClient> =>
      new Promise((resolve, reject) => {
        // In the callback: the loss of the connection can come before a promise resolves.
        pool.connect((error, client) => {
          if (!client) return reject(error ?? new Error('there is no connection'))
          if (!heard.has(client)) client.on('error', () => undefined)
          heard.add(client)
          resolve(client)
        })
      })
    const end = leaveTransactions(borrow)
    return {
      store: postgresStore({ pool }),
      end() {
        end()
        return pool.end()
      },
    }
  }
  const { default: postgres } = await import('postgres')
  // The library asks for the types of arrays first, and no handler hears it if the connection
  // breaks meanwhile: docs/stores/redis.md.
  const pool = postgres(url, {
    max: 6,
    onnotice: () => undefined,
    backoff: () => 0.1,
    fetch_types: false,
  })
  const end = leaveTransactions(() => borrowInTurn(pool))
  return {
    store: postgresStore({ pool }),
    end() {
      end()
      return pool.end({ timeout: 1 })
    },
  }
}
