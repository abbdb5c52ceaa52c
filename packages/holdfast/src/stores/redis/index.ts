/**
 * `holdfast/redis`: locks in a Redis server, for processes on any number of machines.
 *
 * The client is the caller's: ioredis or node-redis, connected as it likes. It is never closed here; the store opens one
 * connection of its own, for messages, with the settings of that client.
 */
import type { Clock, Random } from '../../clock/clock.js'
import type { Store } from '../../store/contract.js'
import type { RedisClient } from './clients.js'
import { openRedis, openSimpleRedis } from './open.js'

export { aclRule, type AclNeeds } from './acl.js'
export { diagnose, type DiagnoseOptions, type RedisDiagnosis } from './diagnose.js'
export { redisMode } from './simple/mode.js'
export type { IoRedisClient, NodeRedisClient, RedisClient } from './clients.js'

export interface RedisStoreOptions {
  /** A `Redis` of ioredis 5 or 6, or a client of node-redis 5 or 6 that `connect()` was called on. */
  readonly client: RedisClient
  /** Stands before every key and channel. Letters, digits, `-`, `_`, `.` and `:`. Default `hf`. */
  readonly prefix?: string
  /** How the rule runs: in scripts, unless the server bans them. */
  readonly mode?: 'scripts'
  /** How long the server may take to answer before the outcome counts as unknown, in milliseconds. Default 5 000. */
  readonly timeoutMs?: number
  /** Time, for simulations. */
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
