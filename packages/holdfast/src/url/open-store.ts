/** Opens the store that a URL names. The code of a store is loaded only for its URL. */
import type * as embedded from '../stores/embedded/index.js'
import type * as etcd from '../stores/etcd/index.js'
import type * as mysql from '../stores/mysql/index.js'
import type * as postgres from '../stores/postgres/index.js'
import type * as redis from '../stores/redis/index.js'
import type * as redlock from '../stores/redlock/index.js'
import type * as zookeeper from '../stores/zookeeper/index.js'
import { describe } from '../options/describe.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import { LockUsageError } from '../errors.js'
import { invariant } from '../invariant.js'
import type { Store } from '../store/contract.js'
import { embeddedOptions } from './embedded.js'
import { etcdOptions } from './etcd.js'
import { openMysqlPool } from './mysql.js'
import { owningStore, type OpenedStore } from './owned-store.js'
import { openPostgresPool } from './postgres.js'
import { connect, findRedisLibrary } from './redis-library.js'
import { REDIS_SCHEMES, redisTarget } from './redis-url.js'
import { schemeOf } from './scheme.js'
import { nearest } from '../options/nearest-word.js'
import { zookeeperOptions } from './zookeeper.js'

/** The options of `openStore`. */
export interface OpenStoreOptions {
  /**
   * A folder: the client library of the store is looked up there first, then beside Holdfast.
   * Default: beside Holdfast only.
   */
  readonly librariesOf?: string | undefined
}

const KEYS: KnownKeys<OpenStoreOptions> = { librariesOf: 1 }

/** Opens one kind of store. The code of the store is loaded with the call. */
type Open = (url: string, libraries: string | undefined) => Promise<OpenedStore>

const OPENERS = new Map<string, Open>([
  ['embedded', openEmbedded],
  ...REDIS_SCHEMES.map((scheme) => [scheme, openRedis] as const),
  ['postgres', openPostgres],
  ['postgresql', openPostgres],
  ['mysql', openMysql],
  ['mariadb', openMysql],
  ['etcd', openEtcd],
  ['etcds', openEtcd],
  ['zk', openZooKeeper],
])

/**
 * Opens the store of a URL, such as `redis://user:password@host:6379/0`. Loads the client library
 * of that store only, and makes a client: closing the store, or the last `createLocks` client of
 * it, closes that too. The command line reads the same URLs.
 * @throws LockUsageError for a URL that makes no sense. No error shows a password.
 * @throws StoreUnavailableError (`STORE_CONFIG`) when the client library is not installed, or a
 * file of the URL cannot be read.
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<OpenedStore> {
  if (typeof url !== 'string') {
    throw new LockUsageError(
      `openStore needs a URL, such as process.env.HOLDFAST_STORE, not ${describe(url)}.`,
    )
  }
  checkKeys('openStore', options, KEYS)
  return openerOf(schemeOf(url))(url, options.librariesOf)
}

function openerOf(scheme: string): Open {
  const open = OPENERS.get(scheme)
  if (open) return open
  if (scheme === 'memory') {
    throw new LockUsageError(
      'A URL cannot name the memory store: its locks exist inside one process, so no other process can wait for them. ' +
        "Use memoryStore() of 'holdfast/memory'.",
    )
  }
  const known = [...OPENERS.keys()]
  const near = nearest(scheme, known)
  const hint = near === undefined ? '' : ` Did you mean ${near}:?`
  throw new LockUsageError(
    `There is no store for ${scheme}: URLs.${hint} Known: ${known.map((name) => `${name}:`).join(', ')}.`,
  )
}

async function openEmbedded(url: string): Promise<OpenedStore> {
  const { embeddedStore } = require('../stores/embedded/index.js') as typeof embedded
  return owningStore(embeddedStore(embeddedOptions(url)))
}

async function openRedis(url: string, libraries: string | undefined): Promise<OpenedStore> {
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

async function openPostgres(url: string, libraries: string | undefined): Promise<OpenedStore> {
  const options = await openPostgresPool(url, libraries)
  const { postgresStore } = require('../stores/postgres/index.js') as typeof postgres
  return owningStore(postgresStore(options), () => options.pool.end())
}

async function openMysql(url: string, libraries: string | undefined): Promise<OpenedStore> {
  const options = await openMysqlPool(url, libraries)
  const { mysqlStore } = require('../stores/mysql/index.js') as typeof mysql
  return owningStore(mysqlStore(options), () => options.pool.end())
}

async function openEtcd(url: string): Promise<OpenedStore> {
  const options = etcdOptions(url)
  const { etcdStore } = require('../stores/etcd/index.js') as typeof etcd
  return owningStore(etcdStore(options))
}

async function openZooKeeper(url: string): Promise<OpenedStore> {
  const options = zookeeperOptions(url)
  const { zookeeperStore } = require('../stores/zookeeper/index.js') as typeof zookeeper
  return owningStore(zookeeperStore(options))
}
