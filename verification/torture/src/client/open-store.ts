/** Opens each store as a program would, with the client library that it needs. */
import {
  LIBRARIES,
  openClient,
  openClusterClient,
  openSentinelClient,
  type OpenClient,
} from '@holdfast/servers/redis-clients'
import { SENTINEL_NAME } from '@holdfast/servers/redis-sentinel'
import { TICK_MS } from '@holdfast/servers/zookeeper'
import type { Store } from 'holdfast/store'
import type { PoolClient } from 'pg'
import type { Connection } from '../protocol.js'
import type { StoreName } from '../stores.js'
import { borrowInTurn, leaveTransactions } from './careless.js'
import type { Library } from './library.js'

export interface OpenStore {
  readonly store: Store
  /** Closes the clients that the store was given; it leaves them open itself. */
  readonly end: () => Promise<void> | void
}

type Opener = (connection: Connection, index: number, library: Library) => Promise<OpenStore>

/** @param index of the process: client libraries take turns */
export async function openStore(
  name: StoreName,
  connection: Connection,
  index: number,
  library: Library,
): Promise<OpenStore> {
  return OPENERS[name](connection, index, library)
}

const OPENERS: Record<StoreName, Opener> = {
  async memory(_connection, _index, library) {
    const { memoryStore } = await library.store<typeof import('holdfast/memory')>('memory')
    return { store: memoryStore({ tombstonesPerLock: 1000 }), end: () => undefined }
  },
  async embedded({ directory = '' }, _index, library) {
    const { embeddedStore } = await library.store<typeof import('holdfast/embedded')>('embedded')
    return { store: embeddedStore({ directory }), end: () => undefined }
  },
  async redis({ ports }, index, library) {
    const { redisStore } = await library.store<typeof import('holdfast/redis')>('redis')
    const { client, end } = openClient(libraryOf(index), redisUrl(firstOf(ports)))
    return { store: redisStore({ client }), end }
  },
  'redis-sentinel': replicated('redis-sentinel'),
  'redis-cluster': replicated('redis-cluster'),
  async redlock({ ports }, index, library) {
    const { redlockStore } = await library.store<typeof import('holdfast/redlock')>('redlock')
    const clients = ports.map((one, node) => openClient(libraryOf(index + node), redisUrl(one)))
    const store = redlockStore({ clients: clients.map(({ client }) => client) })
    return { store, end: () => clients.forEach(({ end }) => end()) }
  },
  postgres: ({ ports }, index, library) => openPostgres(firstOf(ports), index, library),
  async mysql({ ports }, _index, library) {
    const { mysqlStore } = await library.store<typeof import('holdfast/mysql')>('mysql')
    const { createPool } = await import('mysql2/promise')
    const uri = `mysql://app@127.0.0.1:${firstOf(ports)}/app`
    const pool = createPool({ uri, connectionLimit: 6 })
    const end = leaveTransactions(() => pool.getConnection())
    return {
      store: mysqlStore({ pool }),
      end() {
        end()
        return pool.end()
      },
    }
  },
  async etcd({ ports }, index, library) {
    const { etcdStore } = await library.store<typeof import('holdfast/etcd')>('etcd')
    // Clients begin with another member each.
    const first = index % ports.length
    const inTurn = [...ports.slice(first), ...ports.slice(0, first)]
    const endpoints = inTurn.map((one) => `127.0.0.1:${one}`)
    return { store: etcdStore({ endpoints }), end: () => undefined }
  },
  async zookeeper({ ports }, _index, library) {
    const { zookeeperStore } = await library.store<typeof import('holdfast/zookeeper')>('zookeeper')
    const connect = ports.map((one) => `127.0.0.1:${one}`).join()
    return { store: zookeeperStore({ connect, tickMs: TICK_MS }), end: () => undefined }
  },
}

function replicated(name: 'redis-sentinel' | 'redis-cluster'): Opener {
  return async (connection, index, library) => {
    const { redisStore } = await library.store<typeof import('holdfast/redis')>('redis')
    const { client, end } = openReplicated(name, libraryOf(index), connection)
    return { store: redisStore({ client }), end }
  }
}

function firstOf([port = 0]: readonly number[]): number {
  return port
}

async function openPostgres(port: number, index: number, library: Library): Promise<OpenStore> {
  const { postgresStore } = await library.store<typeof import('holdfast/postgres')>('postgres')
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
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

function openReplicated(
  name: 'redis-sentinel' | 'redis-cluster',
  library: (typeof LIBRARIES)[number],
  { seeds = [], routes = {} }: Connection,
): OpenClient {
  // The libraries have names of their own for the same setting.
  const options = library.startsWith('io') ? { natMap: routes } : { nodeAddressMap: routes }
  return name === 'redis-cluster'
    ? openClusterClient(library, seeds, options)
    : openSentinelClient(library, { name: SENTINEL_NAME, ports: seeds }, options)
}

function libraryOf(index: number): (typeof LIBRARIES)[number] {
  return LIBRARIES[index % LIBRARIES.length] ?? LIBRARIES[0]
}

function redisUrl(port: number): string {
  return `redis://127.0.0.1:${port}`
}
