/** Opens a store of Holdfast in a process of the lab. */
import { createLocks, type Locks, type LocksOptions } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import type { Premises } from './strategy.js'
import type { MysqlShop } from '../shop/mysql.js'
import type { PostgresShop } from '../shop/postgres.js'

export const STORES = ['embedded', 'redis', 'redlock', 'zookeeper', 'etcd', 'postgres', 'mysql'] as const
export type StoreName = (typeof STORES)[number]

export interface Opened {
  readonly locks: Locks
  close(): Promise<void>
}

export async function openLocks(
  name: StoreName,
  premises: Premises,
  options: LocksOptions = {},
): Promise<Opened> {
  const { store, end } = await openStore(name, premises)
  const locks = createLocks(store, { ttlMs: premises.ttlMs, ...options })
  return {
    locks,
    async close() {
      await locks.close()
      await end()
    },
  }
}

async function openStore(
  name: StoreName,
  { addresses, folder, shop }: Premises,
): Promise<{ store: Parameters<typeof createLocks>[0]; end: () => Promise<void> }> {
  const end = async (): Promise<void> => {}
  switch (name) {
    case 'embedded':
      return { store: embeddedStore({ directory: folder }), end }
    case 'redis':
    case 'redlock': {
      const { Redis } = await import('ioredis')
      const clients = (addresses[name] ?? '').split(',').map((url) => new Redis(url))
      for (const client of clients) client.on('error', () => {})
      const [client] = clients
      const { redisStore } = await import('holdfast/redis')
      const { redlockStore } = await import('holdfast/redlock')
      return {
        store: name === 'redlock' || !client ? redlockStore({ clients }) : redisStore({ client }),
        end: async () => clients.forEach((one) => one.disconnect()),
      }
    }
    case 'zookeeper': {
      const { zookeeperStore } = await import('holdfast/zookeeper')
      return { store: zookeeperStore({ connect: addresses.zookeeper ?? '', tickMs: 500 }), end }
    }
    case 'etcd': {
      const { etcdStore } = await import('holdfast/etcd')
      return { store: etcdStore({ endpoints: (addresses.etcd ?? '').split(',') }), end }
    }
    case 'postgres': {
      const { postgresStore } = await import('holdfast/postgres')
      return { store: postgresStore({ pool: (shop as PostgresShop).pool }), end }
    }
    case 'mysql': {
      const { mysqlStore } = await import('holdfast/mysql')
      return { store: mysqlStore({ pool: (shop as MysqlShop).pool as never }), end }
    }
  }
}

/** What a store has that not all have. */
export const STORE_TRAITS: Readonly<Record<StoreName, { readonly fence: boolean; readonly queue: boolean }>> =
  {
    embedded: { fence: true, queue: true },
    redis: { fence: true, queue: true },
    redlock: { fence: false, queue: false },
    zookeeper: { fence: true, queue: true },
    etcd: { fence: true, queue: true },
    postgres: { fence: true, queue: true },
    mysql: { fence: true, queue: true },
  }
