/** From the client of a caller to the transport that fits it. */
import type { Clock } from '../../../clock/clock.js'
import { LockUsageError } from '../../../errors.js'
import {
  isIoRedis,
  isIoRedisCluster,
  isNodeRedis,
  isNodeRedisCluster,
  isNodeRedisSentinel,
  type IoRedisClient,
  type RedisClient,
  type SinceVersion6,
} from './clients.js'
import { cluster, oneServer, type Deployment } from './deployment.js'
import { STORE_NAME } from '../errors.js'
import type { ReplicaSettings } from './replicas.js'
import { ioRedisTransport } from './transports/ioredis/ioredis.js'
import { RestTransport } from './transports/rest/rest.js'
import type { RestSettings } from './transports/rest/settings.js'
import { MovableTransport } from './transports/movable.js'
import { reconnectOf } from './transports/owned-client.js'
import { ioRedisClusterTransport } from './transports/ioredis/ioredis-cluster.js'
import { nodeRedisTransport } from './transports/node-redis/node-redis.js'
import { nodeRedisClusterTransport } from './transports/node-redis/node-redis-cluster.js'
import { nodeRedisSentinelTransport } from './transports/node-redis/node-redis-sentinel.js'
import type { ClusterTransport, Transport } from './transports/transport.js'

/** What a store is reached through: a client of the caller's, or requests of its own. */
export type Access = { readonly client: RedisClient } | { readonly rest: RestSettings }

export interface DeploymentSettings {
  /** Stands before every key and channel. */
  readonly prefix: string
  /** How long an answer may take, in milliseconds. */
  readonly requestTimeoutMs: number
  readonly replicas: ReplicaSettings
  readonly clock: Clock
  /** Whether each script call declares the helper keys of its locks. */
  readonly declareKeys: boolean
  /** Whether the clock is one of a simulation. */
  readonly isSimulated: boolean
}

/**
 * Returns what a client or an endpoint leads to.
 * @throws LockUsageError for a client that is none that is known
 */
export function deploymentOf(access: Access, settings: DeploymentSettings): Deployment {
  if ('rest' in access) {
    const transport = new RestTransport({ ...access.rest, ...settings })
    return oneServer(transport, { ...settings, declareKeys: true })
  }
  const { client } = access
  const { requestTimeoutMs, replicas, clock } = settings
  const members = clusterTransportOf(client)
  if (!members) {
    const transport = new MovableTransport(transportOf(client), reconnectOf(client), clock)
    return oneServer(transport, settings)
  }
  if (settings.isSimulated)
    throw usage('clock is for simulations of a single server, not for a Cluster.')
  return cluster(members, requestTimeoutMs, replicas, clock)
}

/** Undefined for a client that is none of a Cluster. */
export function clusterTransportOf(client: RedisClient): ClusterTransport | undefined {
  if (typeof client !== 'object' || client === null) return undefined
  if (isIoRedisCluster(client)) {
    warnOfVersion4(client)
    return ioRedisClusterTransport(client)
  }
  if (isNodeRedisCluster(client)) return nodeRedisClusterTransport(sinceVersion6(client))
  return undefined
}

/**
 * @throws LockUsageError for a client that is not one of a single server, or of the one that
 * Sentinels name
 */
export function transportOf(client: RedisClient): Transport {
  if (typeof client === 'object' && client !== null) {
    if (isIoRedis(client)) {
      warnOfVersion4(client)
      warnOfLateFailover(client)
      return ioRedisTransport(client)
    }
    if (isNodeRedisSentinel(client)) return nodeRedisSentinelTransport(sinceVersion6(client))
    if (isNodeRedis(client)) return nodeRedisTransport(sinceVersion6(client))
  }
  throw usage(
    'client must be a Redis or a Cluster of ioredis 5 or 6, or what createClient, createSentinel or createCluster of ' +
      'node-redis 6 made. In tests without a server use memoryStore() of holdfast/memory instead of a mocked client.',
  )
}

let warned = false

/**
 * Warns once in a process: a client that stays with a replaced primary takes locks that no other
 * client sees.
 */
function warnOfLateFailover({ options }: IoRedisClient): void {
  const { sentinels, failoverDetector } = options as {
    sentinels?: unknown
    failoverDetector?: unknown
  }
  if (warned || !Array.isArray(sentinels) || failoverDetector === true) return
  warned = true
  process.emitWarning(
    'A Redis of ioredis with sentinels stays with a replaced primary for as long as that one answers, and takes locks there ' +
      'that others do not see. Set failoverDetector: true in its options.',
    { type: 'HoldfastWarning', code: 'HOLDFAST_FAILOVER_DETECTOR' },
  )
}

let warnedOfVersion4 = false

/** Warns once in a process of ioredis 4 (4.19 and later show which scripts they have sent). */
function warnOfVersion4(client: object): void {
  if (warnedOfVersion4 || !('_addedScriptHashes' in client)) return
  warnedOfVersion4 = true
  process.emitWarning(
    'This client is one of ioredis 4, with which Holdfast is not tested. Use ioredis 5 or 6 (npm install ioredis@6).',
    { type: 'HoldfastWarning', code: 'HOLDFAST_IOREDIS_4' },
  )
}

/** @throws LockUsageError for a client of node-redis 4 or 5 */
function sinceVersion6<C extends SinceVersion6>(client: C): C {
  if ('clientUnblock' in client) return client
  const what =
    'commandsExecutor' in client
      ? 'node-redis 4, with which Holdfast is not tested'
      : 'node-redis 5, which after a break may take the answer to one command for that to another'
  throw usage(`client is one of ${what}. Use node-redis 6 (npm install redis@6) or ioredis.`)
}

function usage(message: string): LockUsageError {
  return new LockUsageError(`redisStore: ${message}`, { store: STORE_NAME })
}
