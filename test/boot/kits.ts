/**
 * Servers that can be down, and programs' clients of them, one kit for each store and client
 * library.
 */
import { etcdStore } from 'holdfast/etcd'
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import { redisStore, type NodeRedisCluster } from 'holdfast/redis'
import { redlockStore } from 'holdfast/redlock'
import type { Store } from 'holdfast/store'
import { zookeeperStore } from 'holdfast/zookeeper'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'
import { startEtcd } from '@holdfast/servers/etcd'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { openAny, type LIBRARIES } from '@holdfast/servers/redis-clients'
import { startCluster } from '@holdfast/servers/redis-cluster'
import { startSentinels } from '@holdfast/servers/redis-sentinel'
import { startRedis } from '@holdfast/servers/redis'
import { startZooKeeper, TICK_MS } from '@holdfast/servers/zookeeper'
import { closing } from '../conformance/subjects/closing.js'
import { isFull } from '../support/plan.js'

type Library = (typeof LIBRARIES)[number]

/** A service that keeps its data while it is down. */
export interface Backing {
  down(): Promise<unknown>
  up(): Promise<unknown>
  remove(): Promise<unknown>
}

export interface OpenKit extends Backing {
  /** Opens a store with a new client, without waiting for a connection. */
  open(): Store
  /** Ends the connections of all clients, while the server stays up. */
  cut?(): Promise<unknown>
}

export interface Kit {
  readonly name: string
  start(): Promise<OpenKit>
}

function overRedis(library: Library, where: string): Store {
  const opened = openAny(library, where)
  if (library === 'redis6' && where.startsWith('cluster:'))
    connectAgain(opened.client as NodeRedisCluster)
  return closing(redisStore({ client: opened.client }), async () => opened.end())
}

/**
 * Connects again and again: a cluster client of node-redis gives up when no member is up as it
 * connects.
 */
function connectAgain(client: NodeRedisCluster & { connect?(): Promise<unknown> }): void {
  const timer = setInterval(() => {
    if (!client.isOpen) client.connect?.().catch(() => undefined)
  }, 200)
  timer.unref()
  client.on('connect', () => clearInterval(timer))
}

const oneRedis = (library: Library): Kit => ({
  name: `Redis through ${library}`,
  async start() {
    const server = await startRedis({ appendOnly: true })
    return {
      down: () => server.kill(),
      up: () => server.start(),
      remove: () => server.stop(),
      open: () => overRedis(library, server.url),
      async cut() {
        for (const type of ['normal', 'pubsub'])
          await server.command('CLIENT', 'KILL', 'TYPE', type)
      },
    }
  },
})

const sentinels = (library: Library): Kit => ({
  name: `Redis behind Sentinels through ${library}`,
  async start() {
    const group = await startSentinels({ appendOnly: true })
    return {
      async down() {
        await Promise.all(group.sentinels.map((sentinel) => sentinel.crash()))
        await Promise.all(group.servers.map((server) => server.kill()))
      },
      up: () => group.start(),
      remove: () => group.stop(),
      open: () => overRedis(library, `sentinel:${group.name}:${group.sentinelPorts.join(',')}`),
    }
  },
})

const cluster = (library: Library): Kit => ({
  name: `a Redis Cluster through ${library}`,
  async start() {
    const servers = await startCluster({ appendOnly: true })
    return {
      down: () => Promise.all(servers.members.map(({ server }) => server.kill())),
      up: () => servers.start(),
      remove: () => servers.stop(),
      open: () => overRedis(library, `cluster:${servers.ports.join(',')}`),
    }
  },
})

const redlock: Kit = {
  name: 'Redlock',
  async start() {
    const servers = await Promise.all(
      Array.from({ length: 3 }, () => startRedis({ appendOnly: true })),
    )
    const all = (work: (server: (typeof servers)[number]) => Promise<unknown>): Promise<unknown> =>
      Promise.all(servers.map(work))
    return {
      down: () => all((server) => server.kill()),
      up: () => all((server) => server.start()),
      remove: () => all((server) => server.stop()),
      open() {
        const opened = servers.map(({ url }) => openAny('ioredis6', url))
        const store = redlockStore({ clients: opened.map(({ client }) => client) })
        return closing(store, async () => {
          for (const { end } of opened) end()
        })
      },
    }
  },
}

const etcd: Kit = {
  name: 'etcd',
  async start() {
    const servers = await startEtcd()
    const [member] = servers.members
    return {
      down: async () => member?.crash(),
      up: async () => member?.start(),
      remove: () => servers.stop(),
      open: () => etcdStore({ endpoints: servers.endpoints }),
    }
  },
}

const zookeeper: Kit = {
  name: 'ZooKeeper',
  async start() {
    const ensemble = await startZooKeeper()
    const [member] = ensemble.members
    return {
      down: async () => member?.crash(),
      up: async () => member?.start(),
      remove: () => ensemble.stop(),
      open: () => zookeeperStore({ connect: ensemble.connect, tickMs: TICK_MS }),
    }
  },
}

const overPostgres = (library: 'pg' | 'postgres'): Kit => ({
  name: `PostgreSQL through ${library}`,
  async start() {
    const server = await startPostgres()
    server.psql(postgresSchema())
    return {
      cut: () =>
        server.ask(
          'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()',
        ),
      down: () => server.service.crash(),
      up: () => server.service.start(),
      remove: () => server.remove(),
      open() {
        if (library === 'postgres') {
          const pool = postgres(server.url, { max: 4, fetch_types: false })
          return closing(postgresStore({ pool }), () => pool.end({ timeout: 1 }))
        }
        const pool = new Pool({ connectionString: server.url, max: 4 })
        pool.on('error', () => undefined)
        return closing(postgresStore({ pool }), () => pool.end())
      },
    }
  },
})

const mysql: Kit = {
  name: 'MariaDB through mysql2',
  async start() {
    const server = await startMysql({ durable: true })
    server.sql(mysqlSchema())
    return {
      async cut() {
        const ids = await server.ask(
          `select id from information_schema.processlist where db = 'app' and id <> connection_id()`,
        )
        // Some may have ended by themselves.
        await Promise.allSettled(ids.split('\n').map((id) => server.ask(`kill ${id}`)))
      },
      down: () => server.service.crash(),
      up: () => server.service.start(),
      remove: () => server.remove(),
      open() {
        const pool = createPool({ uri: server.url, connectionLimit: 4 })
        // The end of a pool rejects with the error of a connection that was just being opened.
        return closing(mysqlStore({ pool }), () => pool.end().catch(ignoreRefusal))
      },
    }
  },
}

const EVERY_DAY: readonly Kit[] = [
  oneRedis('ioredis6'),
  oneRedis('redis6'),
  sentinels('ioredis6'),
  cluster('redis6'),
  redlock,
  etcd,
  zookeeper,
  overPostgres('pg'),
  mysql,
]

/** The other client libraries over the same servers. */
const ONLY_IN_FULL: readonly Kit[] = [
  oneRedis('ioredis5'),
  sentinels('redis6'),
  cluster('ioredis6'),
  overPostgres('postgres'),
]

export const KITS = isFull() ? [...EVERY_DAY, ...ONLY_IN_FULL] : EVERY_DAY

function ignoreRefusal(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ECONNREFUSED') throw error
}
