/** From what a caller passes in to a store: the options checked, and the transport that fits the client. */
import { systemClock, systemRandom } from '../../clock/clock.js'
import { LockUsageError } from '../../errors.js'
import { isIoRedis, isNodeRedis, type RedisClient } from './clients.js'
import { STORE_NAME } from './errors.js'
import type { RedisStoreOptions, SimpleRedisStoreOptions } from './index.js'
import { SimpleRedisStore } from './simple/store.js'
import { RedisStore, type RedisSettings } from './store.js'
import { ioRedisTransport } from './transports/ioredis.js'
import { nodeRedisTransport } from './transports/node-redis.js'
import type { Transport } from './transports/transport.js'

const LONGEST_PREFIX = 64
const LONGEST_TIMEOUT_MS = 3_600_000

/** @throws LockUsageError when the client is none that is known, or an option makes no sense. */
export function openRedis(options: RedisStoreOptions): RedisStore {
  return new RedisStore(transportOf(options.client), settingsOf(options))
}

/** @throws LockUsageError likewise */
export function openSimpleRedis(options: SimpleRedisStoreOptions): SimpleRedisStore {
  return new SimpleRedisStore(transportOf(options.client), settingsOf(options))
}

function settingsOf(options: RedisStoreOptions | SimpleRedisStoreOptions): RedisSettings {
  const { mode = 'scripts', prefix = 'hf', timeoutMs = 5000 } = options
  const { clock = systemClock, random = systemRandom } = options
  if (mode !== 'scripts' && mode !== 'simple') throw usage("mode must be 'scripts' or 'simple'.")
  if (typeof prefix !== 'string' || !/^[\w.:-]+$/.test(prefix) || prefix.length > LONGEST_PREFIX) {
    throw usage(`prefix must be 1 to ${LONGEST_PREFIX} letters, digits, "-", "_", "." or ":".`)
  }
  if (!Number.isFinite(timeoutMs) || timeoutMs < 1 || timeoutMs > LONGEST_TIMEOUT_MS) {
    throw usage(`timeoutMs must be a number from 1 to ${LONGEST_TIMEOUT_MS}.`)
  }
  return { prefix, timeoutMs, clock, random }
}

export function transportOf(client: RedisClient): Transport {
  if (typeof client === 'object' && client !== null) {
    if (isIoRedis(client)) return ioRedisTransport(client)
    if (isNodeRedis(client)) return nodeRedisTransport(client)
  }
  throw usage('client must be a Redis of ioredis 5 or 6, or a client of node-redis 5 or 6.')
}

function usage(message: string): LockUsageError {
  return new LockUsageError(`redisStore: ${message}`, { store: STORE_NAME })
}
