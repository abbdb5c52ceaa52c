/**
 * `holdfast/redis`: locks in a Redis server, for processes on any number of machines.
 *
 * The client is the caller's: ioredis or node-redis, connected as it likes. It is never closed here; the store opens one
 * connection of its own, for messages, with the settings of that client.
 */
import { LockUsageError } from '../../errors.js'
import type { Store } from '../../store/contract.js'
import { isIoRedis, isNodeRedis, type RedisClient } from './clients.js'
import { STORE_NAME } from './errors.js'
import { RedisStore } from './store.js'
import { ioRedisTransport } from './transports/ioredis.js'
import { nodeRedisTransport } from './transports/node-redis.js'
import type { Transport } from './transports/transport.js'

export type { IoRedisClient, NodeRedisClient, RedisClient } from './clients.js'

export interface RedisStoreOptions {
  /** A `Redis` of ioredis 5 or 6, or a client of node-redis 5 or 6 that `connect()` was called on. */
  readonly client: RedisClient
  /** Stands before every key and channel. Letters, digits, `-`, `_`, `.` and `:`. Default `hf`. */
  readonly prefix?: string
  /** How long the server may take to answer before the outcome counts as unknown, in milliseconds. Default 5 000. */
  readonly timeoutMs?: number
}

const LONGEST_PREFIX = 64
const LONGEST_TIMEOUT_MS = 3_600_000

/**
 * Makes a store on a Redis server. Nothing is sent before the store is used.
 * @throws LockUsageError when the client is none that is known, or an option makes no sense.
 */
export function redisStore(options: RedisStoreOptions): Store<true> {
  const { client, prefix = 'hf', timeoutMs = 5000 } = options
  if (typeof prefix !== 'string' || !/^[\w.:-]+$/.test(prefix) || prefix.length > LONGEST_PREFIX) {
    throw usage(`prefix must be 1 to ${LONGEST_PREFIX} letters, digits, "-", "_", "." or ":".`)
  }
  if (!Number.isFinite(timeoutMs) || timeoutMs < 1 || timeoutMs > LONGEST_TIMEOUT_MS) {
    throw usage(`timeoutMs must be a number from 1 to ${LONGEST_TIMEOUT_MS}.`)
  }
  return new RedisStore(transportOf(client), { prefix, timeoutMs })
}

function transportOf(client: RedisClient): Transport {
  if (typeof client === 'object' && client !== null) {
    if (isIoRedis(client)) return ioRedisTransport(client)
    if (isNodeRedis(client)) return nodeRedisTransport(client)
  }
  throw usage('client must be a Redis of ioredis 5 or 6, or a client of node-redis 5 or 6.')
}

function usage(message: string): LockUsageError {
  return new LockUsageError(`redisStore: ${message}`, { store: STORE_NAME })
}
