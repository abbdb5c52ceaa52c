/** Opens a store of Holdfast in a process of the lab. */
import { createLocks, type Locks, type LocksOptions } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import type { Redis } from 'ioredis'
import type { Premises } from './strategy.js'
import type { MysqlShop } from '../shop/mysql.js'
import type { PostgresShop } from '../shop/postgres.js'

export const STORES = [
  'embedded',
  'redis',
  'redlock',
  'zookeeper',
  'etcd',
  'postgres',
  'mysql',
] as const
export type StoreName = (typeof STORES)[number]

export interface Opened {
  readonly locks: Locks
  readonly close: () => Promise<void>
}

export async function openLocks(
  name: StoreName,
  premises: Premises,
  options: LocksOptions = {},
): Promise<Opened> {
  const { store, end } = await OPENERS[name](premises)
  const locks = createLocks(store, { ttlMs: premises.ttlMs, ...options })
  // A store connects at its first request: that is not to be a buyer's.
  await locks.mutex(`warm-up:${premises.index}`).run(async () => {})
  return {
    locks,
    async close() {
      await locks.close()
      await end()
    },
  }
}

interface OpenedStore {
  readonly store: Parameters<typeof createLocks>[0]
  readonly end: () => Promise<void>
}

const nothing = async (): Promise<void> => {}

/** Each client library is loaded only by who needs it. */
const OPENERS: Readonly<Record<StoreName, (premises: Premises) => Promise<OpenedStore>>> = {
  embedded: async ({ folder }) => ({ store: embeddedStore({ directory: folder }), end: nothing }),

  async redis({ addresses }) {
    const [client, end] = await redisClients(addresses.redis)
    const { redisStore } = await import('holdfast/redis')
    return { store: redisStore({ client: client[0] }), end }
  },

  async redlock({ addresses }) {
    const [clients, end] = await redisClients(addresses.redlock)
    const { redlockStore } = await import('holdfast/redlock')
    return { store: redlockStore({ clients }), end }
  },

  async zookeeper({ addresses }) {
    const { zookeeperStore } = await import('holdfast/zookeeper')
    return {
      store: zookeeperStore({ connect: addresses.zookeeper ?? '', tickMs: 500 }),
      end: nothing,
    }
  },

  async etcd({ addresses }) {
    const { etcdStore } = await import('holdfast/etcd')
    return { store: etcdStore({ endpoints: (addresses.etcd ?? '').split(',') }), end: nothing }
  },

  async postgres({ shop }) {
    const { postgresStore } = await import('holdfast/postgres')
    return { store: postgresStore({ pool: (shop as PostgresShop).pool }), end: nothing }
  },

  async mysql({ shop }) {
    const { mysqlStore } = await import('holdfast/mysql')
    return { store: mysqlStore({ pool: (shop as MysqlShop).pool }), end: nothing }
  },
}

async function redisClients(
  addresses = '',
): Promise<[clients: [Redis, ...Redis[]], end: () => Promise<void>]> {
  const { Redis: Client } = await import('ioredis')
  const clients = addresses.split(',').map((url) => new Client(url)) as [Redis, ...Redis[]]
  // A store hears of its connections where it uses them.
  for (const client of clients) client.on('error', () => {})
  return [clients, async () => clients.forEach((client) => client.disconnect())]
}
