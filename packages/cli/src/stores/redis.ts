/**
 * `redis:`, `rediss:`, `redis+sentinel:`, `redis+cluster:` and `redlock:` URLs. What they say is in
 * `redis-url.ts`.
 */
import { redisStore } from 'holdfast/redis'
import { redlockStore } from 'holdfast/redlock'
import type { Store } from 'holdfast/store'
import { closing } from './closing.js'
import { findRedisLibrary, type Connection, type RedisLibrary } from './redis-library.js'
import { redisTarget, type RedisTarget } from './redis-url.js'

export async function open(url: string): Promise<Store> {
  const target = redisTarget(url)
  const connections = connect(await findRedisLibrary(), target)
  const prefix = target.prefix === undefined ? {} : { prefix: target.prefix }
  const clients = connections.map(({ client }) => client)
  const [client] = clients
  if (client === undefined) throw new TypeError('A URL of Redis names at least one server.')
  const store: Store =
    target.kind === 'redlock'
      ? redlockStore({ clients, ...prefix })
      : redisStore({ client, ...prefix })
  // The store never closes a client that it was given; these were made for it alone.
  return closing(store, () => {
    for (const connection of connections) connection.close()
    return Promise.resolve()
  })
}

/** One client; for Redlock one for each server. */
export function connect(library: RedisLibrary, target: RedisTarget): Connection[] {
  if (target.kind === 'sentinel') return [library.sentinel(target)]
  if (target.kind === 'cluster') return [library.cluster(target)]
  return target.hosts.map((host) => library.single(target, host))
}
