/**
 * `holdfast/redis`: locks in a Redis server, a primary behind Sentinels, or a Cluster, for
 * processes on any number of machines.
 *
 * The client is the caller's: ioredis or node-redis, connected as it likes. The store never closes
 * it. It opens connections of its own with the settings of that client: one for messages,
 * and in a Cluster one to each primary. A server over HTTP needs no client.
 */
import type { Store } from '../../store/contract.js'
import { withSource } from '../../store/source.js'
import { checkKeys } from '../../options/known-keys.js'
import { oneRequestOnly } from './connection/transports/rest/one-request.js'
import { STORE_NAME } from './errors.js'
import { accessOf, REDIS_KEYS, type RedisStoreOptions } from './options.js'
import { RedisStore, restTraits } from './store.js'
import { requestsOf } from './verbs/requests.js'

export type {
  IoRedisClient,
  IoRedisCluster,
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisSentinel,
  RedisClient,
} from './connection/clients.js'
export type { RestFetch, UpstashClient } from './connection/transports/rest/settings.js'
export type { RedisStoreOptions } from './options.js'

/**
 * Makes a store on a Redis server. Nothing is sent before the store is used.
 * @throws LockUsageError when the client is none that is known, or an option makes no sense.
 */
export function redisStore(options: RedisStoreOptions): Store {
  checkKeys('redisStore', options, REDIS_KEYS, { store: STORE_NAME })
  const access = accessOf(options)
  if (!('rest' in access)) return new RedisStore(requestsOf(options, access))
  const store = new RedisStore(requestsOf(options, access), restTraits(access.rest.subscribe))
  const assertUsable = oneRequestOnly()
  const { client, fetch, clock, random } = options
  // What the caller made exists in this thread only.
  const isPlain = [client, fetch, clock, random].every((value) => value === undefined)
  if (isPlain) withSource(store, { maker: 'redis', options: { ...options } })
  return assertUsable ? Object.assign(store, { assertUsable }) : store
}
