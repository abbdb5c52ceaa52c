/**
 * `holdfast/redlock`: locks over several independent Redis servers, so that they outlive the loss
 * of some of them.
 *
 * A claim that holds a majority of the servers holds the lock. A majority also seals its fencing
 * token. There is no queue; docs/stores/redlock.md says what follows from that.
 */
import { systemClock, systemRandom, type Clock, type Random } from '../../clock/clock.js'
import { RequestTimeouts } from '../../clock/request-timeouts.js'
import { LockUsageError } from '../../errors.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import type { Store } from '../../store/contract.js'
import { followsFailovers, type RedisClient } from '../redis/connection/clients.js'
import { requestsOf } from '../redis/verbs/requests.js'
import { OpenRequests } from './nodes/open-requests.js'
import { PendingWithdrawals } from './nodes/pending-withdrawals.js'
import { STORE_NAME } from './errors.js'
import { RedisVoter } from './nodes/redis-voter.js'
import { RedlockStore } from './store.js'
import { proposalOf } from './votes/choose-token.js'

export type { IoRedisClient, NodeRedisClient, RedisClient } from '../redis/connection/clients.js'

/** The servers of a Redlock store, and how they are used. */
export interface RedlockStoreOptions {
  /**
   * One client for each server, ioredis or node-redis, mixed as you like. At least three
   * independent servers: no replicas, no Cluster. All programs that exclude each other use the same
   * servers. An odd number is best, since a fourth server helps no more than three. An even number
   * is allowed, since it is safe to add and remove servers one at a time only.
   */
  readonly clients: readonly RedisClient[]
  /** Prefix of every key. Letters, digits, `-`, `_`, `.` and `:`. Default `hf`. */
  readonly prefix?: string | undefined
  /**
   * How long a server may take to answer before the others decide without it, in milliseconds.
   * Default 500.
   */
  readonly nodeTimeoutMs?: number | undefined
  /**
   * How long a server may take before the outcome there counts as unknown, in milliseconds. Default
   * 5 000.
   */
  readonly requestTimeoutMs?: number | undefined
  /**
   * How far apart the clocks of the servers that make a majority may be, in milliseconds. A claim
   * whose servers' clocks are further apart is refused (`STORE_CONFIG`), since its token would run
   * far ahead of the other clocks. Default 10 000, at most 60 000.
   */
  readonly maxClockDifferenceMs?: number | undefined
  /** Time, for simulations. */
  readonly clock?: Clock | undefined
  /** Randomness, for simulations. */
  readonly random?: Random | undefined
}

const KEYS: KnownKeys<RedlockStoreOptions> = {
  clients: 1,
  prefix: 1,
  nodeTimeoutMs: 1,
  requestTimeoutMs: 1,
  maxClockDifferenceMs: 1,
  clock: 1,
  random: 1,
}
const FEWEST_NODES = 3
const LONGEST_TIMEOUT_MS = 3_600_000
/** As long as a server remembers the last token of a lock after its clock has passed it. */
const LARGEST_CLOCK_DIFFERENCE_MS = 60_000

/**
 * Makes a store on independent Redis servers. Nothing is sent before the store is used.
 * @throws LockUsageError for fewer than three clients, for one client twice, for one of Sentinels
 * or of a Cluster, or when an option makes no sense.
 */
export function redlockStore(options: RedlockStoreOptions): Store {
  checkKeys('redlockStore', options, KEYS, { store: STORE_NAME })
  const { clients, nodeTimeoutMs = 500, prefix, requestTimeoutMs } = options
  const { maxClockDifferenceMs = 10_000, clock = systemClock, random = systemRandom } = options
  checkClients(clients)
  checkMs('nodeTimeoutMs', nodeTimeoutMs, LONGEST_TIMEOUT_MS)
  checkMs('maxClockDifferenceMs', maxClockDifferenceMs, LARGEST_CLOCK_DIFFERENCE_MS)
  const settings = {
    clock,
    random,
    ...(prefix === undefined ? {} : { prefix }),
    ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
  }
  const propose = (): string => proposalOf(clock)
  const nodes = clients.map((client: RedisClient) => {
    const store = new RedisVoter(requestsOf({ client, ...settings }, undefined, propose))
    const requests = new OpenRequests()
    return { store, requests, withdrawals: new PendingWithdrawals(store, clock, requests) }
  })
  const timeouts = new RequestTimeouts(clock, nodeTimeoutMs)
  return new RedlockStore({ nodes, clock, random, nodeTimeoutMs, timeouts, maxClockDifferenceMs })
}

function checkClients(clients: readonly unknown[]): void {
  if (!Array.isArray(clients) || clients.length < FEWEST_NODES) {
    throw usage(
      `clients must be a list of at least ${FEWEST_NODES} clients, one for each independent server. ` +
        'With fewer no server can be missed; use redisStore for a single one.',
    )
  }
  if (new Set(clients).size < clients.length) {
    throw usage('clients has the same client twice; one server must not vote twice.')
  }
  if (
    clients.some(
      (client) =>
        typeof client === 'object' && client !== null && followsFailovers(client as RedisClient),
    )
  ) {
    throw usage(
      'clients has one of Sentinels or of a Cluster. A vote must not be lost to a failover: ' +
        'use independent servers, or redisStore for those.',
    )
  }
}

function checkMs(option: string, ms: number, mostMs: number): void {
  if (Number.isFinite(ms) && ms >= 1 && ms <= mostMs) return
  throw usage(`${option} must be a number from 1 to ${mostMs}.`)
}

function usage(message: string): LockUsageError {
  return new LockUsageError(`redlockStore: ${message}`, { store: STORE_NAME })
}
