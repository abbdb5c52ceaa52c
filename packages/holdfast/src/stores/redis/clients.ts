/**
 * As much of the client libraries as is used, described by shape: nothing of them is imported, and any version that has
 * this shape will do. Tried with ioredis 5 and 6 and with node-redis (`redis`) 5 and 6.
 */

type Listener = (...args: unknown[]) => void

/** A `Redis` of ioredis. */
export interface IoRedisClient {
  readonly status: string
  readonly options: { readonly keyPrefix?: string | undefined }
  call(command: string, ...args: string[]): Promise<unknown>
  duplicate(override?: IoRedisOverride): IoRedisDuplicate
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}

/** Settings that a connection of the store's own needs, whatever the caller's has. */
export interface IoRedisOverride {
  readonly lazyConnect: boolean
  readonly autoResubscribe?: boolean
  readonly enableOfflineQueue: boolean
  readonly maxRetriesPerRequest: null
  readonly keyPrefix?: string
  readonly retryStrategy?: null
  readonly reconnectOnError?: null
}

export interface IoRedisDuplicate {
  call(command: string, ...args: string[]): Promise<unknown>
  subscribe(...channels: string[]): Promise<unknown>
  on(event: string, listener: Listener): unknown
  disconnect(): void
}

/** A client made with `createClient` of node-redis. */
export interface NodeRedisClient {
  readonly isOpen: boolean
  readonly isReady: boolean
  readonly options?: object | undefined
  sendCommand(args: string[]): Promise<unknown>
  duplicate(override?: { readonly socket: object }): NodeRedisDuplicate
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}

export interface NodeRedisDuplicate {
  sendCommand(args: string[]): Promise<unknown>
  connect(): Promise<unknown>
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  on(event: string, listener: Listener): unknown
  destroy(): void
}

export type RedisClient = IoRedisClient | NodeRedisClient

export function isIoRedis(client: RedisClient): client is IoRedisClient {
  return 'call' in client && typeof client.call === 'function'
}

export function isNodeRedis(client: RedisClient): client is NodeRedisClient {
  return 'sendCommand' in client && typeof client.sendCommand === 'function' && 'isReady' in client
}
