/** The kinds of stores that a URL can name: one row each. `open` loads the code of the store. */
import type * as embedded from '../stores/embedded/index.js'
import type * as etcd from '../stores/etcd/index.js'
import type * as mysql from '../stores/mysql/index.js'
import type * as postgres from '../stores/postgres/index.js'
import type * as zookeeper from '../stores/zookeeper/index.js'
import { embeddedOptions } from './embedded.js'
import { etcdOptions } from './etcd.js'
import { MYSQL_CLIENTS, openMysqlPool } from './mysql.js'
import { owningStore, type OpenedStore } from './owned-store.js'
import { openPostgresPool, POSTGRES_CLIENTS } from './postgres.js'
import { REDIS_CLIENTS } from './redis-library.js'
import { REDIS_SCHEMES } from './redis-url.js'
import { openRedis } from './redis.js'
import { openRedisOverHttp } from './redis-http.js'
import { zookeeperOptions } from './zookeeper.js'

/** One kind of store. */
export interface StoreKind {
  readonly name: string
  readonly schemes: readonly string[]
  /** The modules that can serve its URLs; none where the store has its own client. */
  readonly clients: readonly string[]
  /** @param libraries a folder where the client library is looked up first */
  open(url: string, libraries: string | undefined): Promise<OpenedStore>
}

export const STORE_KINDS = [
  { name: 'embedded', schemes: ['embedded'], clients: [], open: openEmbedded },
  { name: 'redis', schemes: REDIS_SCHEMES, clients: REDIS_CLIENTS, open: openRedis },
  { name: 'redis-http', schemes: ['https', 'http'], clients: [], open: openRedisOverHttp },
  {
    name: 'postgres',
    schemes: ['postgres', 'postgresql'],
    clients: POSTGRES_CLIENTS,
    open: openPostgres,
  },
  { name: 'mysql', schemes: ['mysql', 'mariadb'], clients: MYSQL_CLIENTS, open: openMysql },
  { name: 'etcd', schemes: ['etcd', 'etcds'], clients: [], open: openEtcd },
  { name: 'zookeeper', schemes: ['zk'], clients: [], open: openZooKeeper },
] as const satisfies readonly StoreKind[]

export type StoreKindName = (typeof STORE_KINDS)[number]['name']

/** Returns the kind of a URL's scheme. */
export function kindOf(scheme: string): (StoreKind & { name: StoreKindName }) | undefined {
  return STORE_KINDS.find(({ schemes }) => (schemes as readonly string[]).includes(scheme))
}

async function openEmbedded(url: string): Promise<OpenedStore> {
  const { embeddedStore } = require('../stores/embedded/index.js') as typeof embedded
  return owningStore(embeddedStore(embeddedOptions(url)))
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
