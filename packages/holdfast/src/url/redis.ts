/** Opens the store of a URL of Redis, or of several: Redlock. */
import type * as redis from '../stores/redis/index.js'
import type * as redlock from '../stores/redlock/index.js'
import { invariant } from '../invariant.js'
import type { Store } from '../store/contract.js'
import { owningStore, type OpenedStore } from './owned-store.js'
import { connect, findRedisLibrary } from './redis-library.js'
import { redisTarget } from './redis-url.js'

export async function openRedis(url: string, libraries: string | undefined): Promise<OpenedStore> {
  const target = redisTarget(url)
  const prefix = target.prefix === undefined ? {} : { prefix: target.prefix }
  const library = await findRedisLibrary(libraries)
  const isRedlock = target.kind === 'redlock'
  // The store has to see the first error of a client, so its code is loaded before that connects.
  const makeStore = isRedlock ? loadRedlock(prefix) : loadRedis(prefix)
  const connections = connect(library, target)
  const end = async (): Promise<void> => {
    for (const connection of connections) connection.close()
  }
  try {
    return owningStore(makeStore(connections.map(({ client }) => client)), end)
  } catch (error) {
    // The prefix is refused. Without this the connections would keep the process alive.
    await end()
    throw error
  }
}

type MakeRedis = (clients: readonly redis.RedisClient[]) => Store

function loadRedlock(prefix: { readonly prefix?: string }): MakeRedis {
  const { redlockStore } = require('../stores/redlock/index.js') as typeof redlock
  return (clients) => redlockStore({ clients, ...prefix })
}

function loadRedis(prefix: { readonly prefix?: string }): MakeRedis {
  const { redisStore } = require('../stores/redis/index.js') as typeof redis
  return ([client]) => {
    invariant(client !== undefined, 'a URL of Redis names at least one server')
    return redisStore({ client, ...prefix })
  }
}
