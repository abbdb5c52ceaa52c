/**
 * `holdfast/redis`: locks in a Redis server, a primary behind Sentinels, or a Cluster, for processes on any number of
 * machines.
 *
 * The client is the caller's: ioredis or node-redis, connected as it likes. It is never closed here; the store opens
 * connections of its own with the settings of that client, one for messages, and in a Cluster one to each primary.
 */
import type { Clock, Random } from '../../clock/clock.js'
import type { Store } from '../../store/contract.js'
import type { RedisClient } from './clients.js'
import { openRedis, openSimpleRedis } from './open.js'

export { aclRule, type AclNeeds } from './acl.js'
export { diagnose, type DiagnoseOptions, type RedisDiagnosis } from './diagnose.js'
export { redisMode } from './simple/mode.js'
export type {
  IoRedisClient,
  IoRedisCluster,
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisSentinel,
  RedisClient,
} from './clients.js'

export interface RedisStoreOptions {
  /**
   * A `Redis` or `Cluster` of ioredis 5 or 6, or what `createClient`, `createSentinel` or `createCluster` of node-redis 5
   * or 6 made, on which `connect()` was called.
   */
  readonly client: RedisClient
  /** Stands before every key and channel. Letters, digits, `-`, `_`, `.` and `:`. Default `hf`. */
  readonly prefix?: string
  /** How the rule runs: in scripts, unless the server bans them. */
  readonly mode?: 'scripts'
  /** How long the server may take to answer before the outcome counts as unknown, in milliseconds. Default 5 000. */
  readonly timeoutMs?: number
  /** Time, for simulations of a single server. */
  readonly clock?: Clock
  /** Randomness, for simulations. */
  readonly random?: Random
}

/** For servers where EVAL is banned. `redisMode` finds out whether it is. */
export interface SimpleRedisStoreOptions extends Omit<RedisStoreOptions, 'mode'> {
  /** Mutexes without tokens and without a queue. All programs that are to exclude each other use the same mode. */
  readonly mode: 'simple'
}

/**
 * Makes a store on a Redis server. Nothing is sent before the store is used.
 * @throws LockUsageError when the client is none that is known, or an option makes no sense.
 */
export function redisStore(options: RedisStoreOptions): Store<true>
export function redisStore(options: SimpleRedisStoreOptions): Store<false>
export function redisStore(options: RedisStoreOptions | SimpleRedisStoreOptions): Store
export function redisStore(options: RedisStoreOptions | SimpleRedisStoreOptions): Store {
  return options.mode === 'simple' ? openSimpleRedis(options) : openRedis(options)
}
