/**
 * The members of the client libraries that the store uses. The store imports no library, and any
 * version with these members will do. Tried with ioredis 5 and 6 and with node-redis (`redis`) 6.
 */

type Listener = (...args: unknown[]) => void

/** A `Redis` of ioredis. */
export interface IoRedisClient {
  readonly status: string
  readonly options: {
    readonly keyPrefix?: string | undefined
    readonly db?: number | undefined
    readonly enableAutoPipelining?: boolean | undefined
  }
  call(command: string, ...args: string[]): Promise<unknown>
  duplicate(override?: IoRedisOverride): IoRedisDuplicate
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}

/** Settings that a connection of the store's own needs, regardless of those of the caller's. */
export interface IoRedisOverride {
  readonly lazyConnect: boolean
  readonly autoResubscribe?: boolean
  readonly enableOfflineQueue: boolean
  readonly maxRetriesPerRequest: null
  readonly keyPrefix?: string
  readonly db?: number
  readonly retryStrategy?: null | ((times: number) => number)
  readonly sentinelRetryStrategy?: (times: number) => number | null
  readonly reconnectOnError?: null
  readonly host?: string
  readonly port?: number
  readonly readOnly?: boolean
  readonly username?: string
  readonly password?: string
}

export interface IoRedisDuplicate extends IoRedisClient {
  connect(): Promise<unknown>
  subscribe(...channels: string[]): Promise<unknown>
  disconnect(): void
}

/** A connection to a member of a Cluster, as a `Cluster` of ioredis makes it. */
export interface IoRedisMember extends IoRedisClient {
  duplicate(override?: IoRedisOverride): IoRedisOwnMember
}

export interface IoRedisOwnMember extends IoRedisMember {
  connect(): Promise<unknown>
  subscribe(...channels: string[]): Promise<unknown>
  ssubscribe(...channels: string[]): Promise<unknown>
  sunsubscribe(...channels: string[]): Promise<unknown>
  disconnect(): void
}

/** A `Cluster` of ioredis. */
export interface IoRedisCluster {
  readonly isCluster: boolean
  readonly status: string
  readonly options: {
    readonly keyPrefix?: string | undefined
    readonly natMap?: unknown
    readonly redisOptions?: object | undefined
  }
  call(command: string, ...args: string[]): Promise<unknown>
  nodes(role?: 'all' | 'master' | 'slave'): IoRedisMember[]
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}

/**
 * The mark of version 6 of node-redis, whose clients do not show their version: this command came
 * with it. After a break version 5 may take the answer to one command for that to another.
 */
export interface SinceVersion6 {
  clientUnblock(...args: never[]): unknown
}

/** A client made with `createClient` of node-redis. */
export interface NodeRedisClient extends SinceVersion6 {
  readonly isOpen: boolean
  readonly isReady: boolean
  readonly options?: object | undefined
  sendCommand(args: string[]): Promise<unknown>
  duplicate(override?: NodeRedisOverride): NodeRedisDuplicate
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}

export interface NodeRedisOverride {
  readonly socket?: object
  readonly keyPrefix?: string
  readonly readonly?: boolean
  readonly disableOfflineQueue?: boolean
  readonly commandOptions?: object
}

export interface NodeRedisDuplicate extends NodeRedisClient {
  connect(): Promise<unknown>
  unref(): void
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  destroy(): void
}

/** A connection to a member of a Cluster, as a cluster of node-redis makes it. */
export interface NodeRedisMember extends NodeRedisClient {
  duplicate(override?: NodeRedisOverride): NodeRedisOwnMember
}

export interface NodeRedisOwnMember extends NodeRedisMember {
  connect(): Promise<unknown>
  unref(): void
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  sSubscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  sUnsubscribe(channel: string): Promise<unknown>
  destroy(): void
}

/**
 * A member that a cluster of node-redis knows of. It may have no connection yet, or none any more.
 */
export interface NodeRedisClusterNode {
  readonly client?: NodeRedisMember | undefined
}

/** A client made with `createCluster` of node-redis. */
export interface NodeRedisCluster extends SinceVersion6 {
  readonly isOpen: boolean
  readonly masters: readonly NodeRedisClusterNode[]
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean | undefined,
    args: string[],
  ): Promise<unknown>
  nodeClient(node: never): Promise<NodeRedisMember>
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}

/** A client made with `createSentinel` of node-redis. */
export interface NodeRedisSentinel extends SinceVersion6 {
  readonly isOpen: boolean
  readonly isReady: boolean
  sendCommand(isReadonly: boolean | undefined, args: string[]): Promise<unknown>
  getMasterNode(): unknown
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  /**
   * The library asks for a listener of text and of buffers at once, which none of ours is to its
   * type.
   */
  unsubscribe(channel: string, listener?: unknown): Promise<unknown>
  duplicate(override: { readonly masterPoolSize: number }): NodeRedisOwnSentinel
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}

export interface NodeRedisOwnSentinel {
  connect(): Promise<unknown>
  sendCommand(isReadonly: boolean | undefined, args: string[]): Promise<unknown>
  on(event: string, listener: Listener): unknown
  destroy(): Promise<unknown>
}

/** A client of one server, or of the server that the Sentinels name. */
export type RedisServerClient = IoRedisClient | NodeRedisClient | NodeRedisSentinel
export type RedisClusterClient = IoRedisCluster | NodeRedisCluster
/** A client of Redis, of either library, for one server, Sentinels or a Cluster. */
export type RedisClient = RedisServerClient | RedisClusterClient

export function isIoRedisCluster(client: RedisClient): client is IoRedisCluster {
  return (
    'isCluster' in client &&
    client.isCluster &&
    'nodes' in client &&
    typeof client.nodes === 'function'
  )
}

/**
 * Whether the client follows failovers to another server: a vote that one server gave may be lost
 * with it.
 */
export function followsFailovers(client: RedisClient): boolean {
  if (isIoRedisCluster(client) || isNodeRedisCluster(client) || isNodeRedisSentinel(client))
    return true
  const { options } = client
  return typeof options === 'object' && 'sentinels' in options && Array.isArray(options.sentinels)
}

export function isIoRedis(client: RedisClient): client is IoRedisClient {
  return 'call' in client && typeof client.call === 'function' && !isIoRedisCluster(client)
}

export function isNodeRedisCluster(client: RedisClient): client is NodeRedisCluster {
  return 'nodeClient' in client && typeof client.nodeClient === 'function' && 'masters' in client
}

export function isNodeRedisSentinel(client: RedisClient): client is NodeRedisSentinel {
  return (
    'getMasterNode' in client &&
    typeof client.getMasterNode === 'function' &&
    hasSendCommand(client)
  )
}

export function isNodeRedis(client: RedisClient): client is NodeRedisClient {
  return (
    hasSendCommand(client) &&
    'isReady' in client &&
    !isNodeRedisCluster(client) &&
    !isNodeRedisSentinel(client)
  )
}

function hasSendCommand(client: RedisClient): boolean {
  return 'sendCommand' in client && typeof client.sendCommand === 'function'
}
