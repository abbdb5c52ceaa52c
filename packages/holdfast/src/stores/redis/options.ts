/** The options of a store in Redis, and the settings that they make. */
import { systemClock, systemRandom, type Clock, type Random } from '../../clock/clock.js'
import { LockUsageError } from '../../errors.js'
import type { KnownKeys } from '../../options/known-keys.js'
import { checkWhole } from '../../options/whole-number.js'
import type { RedisClient } from './connection/clients.js'
import type { Access, DeploymentSettings } from './connection/open.js'
import type { ReplicaSettings } from './connection/replicas.js'
import {
  isUpstash,
  restSettings,
  settingsOfClient,
  type RestFetch,
  type UpstashClient,
} from './connection/transports/rest/settings.js'
import { STORE_NAME } from './errors.js'
import { isPrefix, LONGEST_PREFIX } from './keys.js'

/** The client of a store in Redis, and how it is used. */
export interface RedisStoreOptions {
  /**
   * A `Redis` or `Cluster` of ioredis 5 or 6, or what `createClient`, `createSentinel` or
   * `createCluster` of node-redis 6 made, on which `connect()` was called. A `Redis` of
   * `@upstash/redis` gives its endpoint and token only.
   */
  readonly client?: RedisClient | UpstashClient | undefined
  /**
   * The endpoint of a Redis over HTTP, as Upstash has it, instead of a client. Default:
   * `UPSTASH_REDIS_REST_URL`.
   */
  readonly url?: string | undefined
  /** The token of the endpoint. Default: `UPSTASH_REDIS_REST_TOKEN`, for the endpoint beside it. */
  readonly token?: string | undefined
  /** Makes the requests to the endpoint. Default: the `fetch` of the platform. */
  readonly fetch?: RestFetch | undefined
  /**
   * Whether waiters of an endpoint keep a stream of messages open. Without it they ask again and
   * again. Default: true, except on Cloudflare Workers, AWS Lambda, Vercel, Netlify and Azure
   * Functions.
   */
  readonly subscribe?: boolean | undefined
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
  /**
   * Whether each script call declares all keys that it touches, for servers and proxies that refuse
   * others. In a Cluster it always does. Elsewhere it does so from the first refusal on. Costs the
   * server 5% of a pair. Default false.
   */
  readonly declareKeys?: boolean | undefined
  /** Time, for simulations of a single server. */
  readonly clock?: Clock | undefined
  /** Randomness, for simulations. */
  readonly random?: Random | undefined
}

export const REDIS_KEYS: KnownKeys<RedisStoreOptions> = {
  client: 1,
  url: 1,
  token: 1,
  fetch: 1,
  subscribe: 1,
  prefix: 1,
  requestTimeoutMs: 1,
  minReplicas: 1,
  replicaTimeoutMs: 1,
  declareKeys: 1,
  clock: 1,
  random: 1,
}

const MOST_REPLICAS = 100
const LONGEST_TIMEOUT_MS = 3_600_000

export interface RedisSettings extends DeploymentSettings {
  readonly random: Random
}

/**
 * Returns what the options reach the server through.
 * @throws LockUsageError when they name nothing, or two things
 */
export function accessOf(options: RedisStoreOptions): Access {
  const { client, minReplicas = 0, url, token, fetch: ownFetch, subscribe } = options
  const isRest = [url, token].some((option) => option !== undefined)
  if (client !== undefined && isRest) throw usage('pass a client, or url and token, not both.')
  if (client !== undefined && !isUpstash(client)) {
    if (ownFetch === undefined && subscribe === undefined) return { client }
    throw usage('fetch and subscribe are for url and token, not for a client.')
  }
  if (minReplicas > 0) throw usage('minReplicas needs a client: no replica is asked over HTTP.')
  const place = client === undefined ? { url, token } : settingsOfClient(client)
  return { rest: restSettings({ ...place, fetch: ownFetch, subscribe }) }
}

/**
 * Returns the settings, with the defaults of what is missing.
 * @throws LockUsageError when an option makes no sense
 */
export function settingsOf(options: RedisStoreOptions): RedisSettings {
  const { prefix = 'hf', requestTimeoutMs = 5000 } = options
  const { clock = systemClock, random = systemRandom, declareKeys = false } = options
  if (!isPrefix(prefix)) {
    throw usage(`prefix must be 1 to ${LONGEST_PREFIX} letters, digits, "-", "_", "." or ":".`)
  }
  if (
    !Number.isFinite(requestTimeoutMs) ||
    requestTimeoutMs < 1 ||
    requestTimeoutMs > LONGEST_TIMEOUT_MS
  ) {
    throw usage(`requestTimeoutMs must be a number from 1 to ${LONGEST_TIMEOUT_MS}.`)
  }
  const replicas = replicasOf(options)
  // The call that waits for them ends at requestTimeoutMs, before their answer could count.
  if (replicas.minReplicas > 0 && replicas.replicaTimeoutMs >= requestTimeoutMs) {
    throw usage(
      `replicaTimeoutMs (${replicas.replicaTimeoutMs}) must be less than requestTimeoutMs (${requestTimeoutMs}), which counts from ` +
        'the beginning of the call that waits for the replicas. Give the replicas less time, or the call more.',
    )
  }
  const isSimulated = options.clock !== undefined
  if (typeof declareKeys !== 'boolean') throw usage('declareKeys must be true or false.')
  return { prefix, requestTimeoutMs, replicas, declareKeys, clock, isSimulated, random }
}

function replicasOf({
  minReplicas = 0,
  replicaTimeoutMs = 1000,
}: RedisStoreOptions): ReplicaSettings {
  const details = { store: STORE_NAME }
  checkWhole('redisStore: minReplicas', minReplicas, { min: 0, max: MOST_REPLICAS }, details)
  // For WAIT no time at all would mean forever.
  const range = { max: LONGEST_TIMEOUT_MS }
  checkWhole('redisStore: replicaTimeoutMs', replicaTimeoutMs, range, details)
  return { minReplicas, replicaTimeoutMs }
}

function usage(message: string): LockUsageError {
  return new LockUsageError(`redisStore: ${message}`, { store: STORE_NAME })
}
