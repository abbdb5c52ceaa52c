/** Connects to Redis with the user's own library, ioredis or node-redis. */
import type { RedisClient } from '../stores/redis/index.js'
import { keepOpen } from '../stores/redis/connection/transports/keep-open.js'
import { noteOwned } from '../stores/redis/connection/transports/owned-client.js'
import { loadClient } from './client-library.js'
import type { RedisHost, RedisTarget } from './redis-url.js'

/** The modules that can serve these URLs. */
export const REDIS_CLIENTS = ['ioredis', 'redis']

/** A connection that its maker owns. */
export interface Connection {
  readonly client: RedisClient
  /** Sends a command that names no keys. The library decides how long it waits. */
  ask(...words: string[]): Promise<unknown>
  close(): void
}

/** The connections that a library can make. */
export interface RedisLibrary {
  readonly name: string
  single(target: RedisTarget, host: RedisHost): Connection
  sentinel(target: RedisTarget): Connection
  cluster(target: RedisTarget): Connection
}

const CONNECTION_NAME = 'holdfast'

/**
 * Loads the client library for Redis: ioredis, or else redis.
 * @param folder where to look first; see `openStore`
 * @throws StoreUnavailableError (`STORE_CONFIG`) when there is none.
 */
export async function findRedisLibrary(folder?: string): Promise<RedisLibrary> {
  const { name, library } = await loadClient('redis', REDIS_CLIENTS, folder)
  return name === 'ioredis' ? ofIoRedis(library as IoRedis) : ofNodeRedis(library as NodeRedis)
}

/** Makes one connection; for Redlock one for each server. */
export function connect(library: RedisLibrary, target: RedisTarget): Connection[] {
  if (target.kind === 'sentinel') return [library.sentinel(target)]
  if (target.kind === 'cluster') return [library.cluster(target)]
  return target.hosts.map((host) => library.single(target, host))
}

/** The common part of both libraries' clients. The store checks the rest. */
interface Made {
  on(event: 'error', listener: () => void): unknown
}

interface IoRedisMade {
  on(event: 'error' | 'end', listener: () => void): unknown
  call(...words: string[]): Promise<unknown>
  connect(): Promise<unknown>
  disconnect(reconnect?: boolean): void
}

interface IoRedis {
  readonly Redis: new (options: object) => IoRedisMade
  readonly Cluster: new (hosts: readonly RedisHost[], options: object) => IoRedisMade
}

function ioSettings({ credentials, tls, database }: RedisTarget): object {
  return {
    ...credentials,
    ...(tls === undefined ? {} : { tls }),
    db: database,
    connectionName: CONNECTION_NAME,
  }
}

function ofIoRedis({ Redis, Cluster }: IoRedis): RedisLibrary {
  return {
    name: 'ioredis',
    single: (target, host) => ioConnection(new Redis({ ...ioSettings(target), ...host })),
    sentinel: (target) => {
      const { hosts, master, tls, sentinelCredentials } = target
      return ioConnection(
        new Redis({
          ...ioSettings(target),
          sentinels: hosts,
          name: master,
          // Without it the library stays with a replaced primary for as long as that one answers.
          failoverDetector: true,
          ...(tls === undefined ? {} : { enableTLSForSentinelMode: true, sentinelTLS: tls }),
          ...(sentinelCredentials === undefined
            ? {}
            : {
                sentinelUsername: sentinelCredentials.username,
                sentinelPassword: sentinelCredentials.password,
              }),
        }),
      )
    },
    cluster: (target) =>
      ioConnection(new Cluster(target.hosts, { redisOptions: ioSettings(target) })),
  }
}

function ioConnection(made: IoRedisMade): Connection {
  // The store receives the same error with the request that failed.
  made.on('error', () => undefined)
  const stop = keepOpen(made)
  // Only this store uses it, so only commands of the store are sent again.
  noteOwned(made, () => made.disconnect(true))
  return {
    client: made as Made as RedisClient,
    ask: (...words) => made.call(...words),
    close() {
      stop()
      made.disconnect()
    },
  }
}

interface NodeRedisMade extends Made {
  readonly isReady: boolean
  sendCommand(words: string[]): Promise<unknown>
  connect(): Promise<unknown>
  destroy(): unknown
}

interface NodeRedis {
  createClient(options: object): NodeRedisMade
  createSentinel(options: object): NodeRedisMade
  createCluster(options: object): NodeRedisMade
}

function nodeSettings({ credentials, tls, database }: RedisTarget): object {
  return {
    ...credentials,
    ...(database === 0 ? {} : { database }),
    name: CONNECTION_NAME,
    ...(tls === undefined ? {} : { socket: { tls: true, ...tls } }),
  }
}

function ofNodeRedis(library: NodeRedis): RedisLibrary {
  return {
    name: 'redis',
    single(target, host) {
      const { socket, ...rest } = nodeSettings(target) as { socket?: object }
      const client = library.createClient({ ...rest, socket: { ...socket, ...host } })
      return nodeConnection(client, true)
    },
    sentinel: (target) => {
      const { hosts, master, tls, sentinelCredentials } = target
      const sentinelClientOptions = {
        ...sentinelCredentials,
        ...(tls === undefined ? {} : { socket: { tls: true, ...tls } }),
      }
      return nodeConnection(
        library.createSentinel({
          name: master,
          sentinelRootNodes: hosts,
          nodeClientOptions: nodeSettings(target),
          sentinelClientOptions,
        }),
      )
    },
    cluster: (target) =>
      nodeConnection(
        library.createCluster({
          rootNodes: target.hosts.map((host) => ({ socket: host })),
          defaults: nodeSettings(target),
        }),
      ),
  }
}

/** @param hasOneConnection whether it can be destroyed and connected again */
function nodeConnection(made: NodeRedisMade, hasOneConnection = false): Connection {
  made.on('error', () => undefined)
  const connect = (): Promise<unknown> => made.connect().catch(() => undefined)
  let connected = connect()
  const destroy = async (): Promise<void> => {
    try {
      await made.destroy()
    } catch {
      // It was closed already.
    }
  }
  if (hasOneConnection) {
    // A connection that is being made leads to where the address leads now.
    noteOwned(made, () => {
      if (!made.isReady) return
      void destroy()
      connected = connect()
    })
  }
  return {
    client: made as Made as RedisClient,
    ask: (...words) => made.sendCommand(words),
    close() {
      void destroy()
      // A client that is destroyed while it connects keeps the socket that it gets afterwards.
      void connected.then(destroy)
    },
  }
}
