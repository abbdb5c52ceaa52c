/** The options of a store in Redis. */
import type { Clock, Random } from '../../clock/clock.js'
import type { KnownKeys } from '../../options/known-keys.js'
import type { RedisClient } from './connection/clients.js'

/** The client of a store in Redis, and how it is used. */
export interface RedisStoreOptions {
  /**
   * A `Redis` or `Cluster` of ioredis 5 or 6, or what `createClient`, `createSentinel` or
   * `createCluster` of node-redis 6 made, on which `connect()` was called.
   */
  readonly client: RedisClient
  /** Stands before every key and channel. Letters, digits, `-`, `_`, `.` and `:`. Default `hf`. */
  readonly prefix?: string | undefined
  /**
   * How long the server may take to answer before the outcome counts as unknown, in milliseconds.
   * Default 5 000.
   */
  readonly requestTimeoutMs?: number | undefined
  /**
   * How many replicas must acknowledge a lease (WAIT), and each of its renewals, before it counts.
   * A lease that they do not acknowledge in time is withdrawn again, and its caller gets a
   * `StoreUnavailableError` (`NOT_REPLICATED`). This makes it less likely that a failover loses a
   * lease; it cannot rule it out. Costs a round trip for each lease. Default 0.
   */
  readonly minReplicas?: number | undefined
  /**
   * How long the replicas may take, in milliseconds: less than `requestTimeoutMs`. Default 1 000.
   */
  readonly replicaTimeoutMs?: number | undefined
  /** Time, for simulations of a single server. */
  readonly clock?: Clock | undefined
  /** Randomness, for simulations. */
  readonly random?: Random | undefined
}

export const REDIS_KEYS: KnownKeys<RedisStoreOptions> = {
  client: 1,
  prefix: 1,
  requestTimeoutMs: 1,
  minReplicas: 1,
  replicaTimeoutMs: 1,
  clock: 1,
  random: 1,
}
