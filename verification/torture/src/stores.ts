/** The stores that can be tried, and how the work is shaped for each. */
export const STORE_NAMES = [
  'memory',
  'embedded',
  'redis',
  'redis-sentinel',
  'redis-cluster',
  'redlock',
  'postgres',
  'mysql',
  'etcd',
  'zookeeper',
] as const
export type StoreName = (typeof STORE_NAMES)[number]

export interface StoreShape {
  readonly title: string
  readonly ttlMs: number
  /** Processes that contend. What lives in one process has one. */
  readonly clients: number
  /** How many servers there are. */
  readonly servers: number
  /**
   * How long a waiter may wait after everything was healed, in milliseconds. It includes the lease
   * of a dead holder, the heartbeats of dead waiters, the re-attempt floor, a round trip and a
   * hand-off. It also includes the time in which the service itself comes back.
   */
  readonly boundMs: number
  /** Leases have fencing tokens. */
  readonly fenced: boolean
  /** The store shows its holders and waiters. */
  readonly inspects: boolean
}

const shape = (title: string, rest: Partial<StoreShape> = {}): StoreShape => ({
  title,
  ttlMs: 1500,
  clients: 4,
  servers: 1,
  boundMs: 7000,
  fenced: true,
  inspects: true,
  ...rest,
})

export const STORES: Readonly<Record<StoreName, StoreShape>> = {
  memory: shape('Memory', { clients: 1, servers: 0 }),
  embedded: shape('Embedded (SQLite)', { servers: 0 }),
  redis: shape('Redis'),
  // Leases that outlast a failover, and clients that have to find the new primary.
  'redis-sentinel': shape('Redis with Sentinels', { ttlMs: 3000, servers: 2, boundMs: 14_000 }),
  'redis-cluster': shape('Redis Cluster', { ttlMs: 3000, servers: 6, boundMs: 14_000 }),
  redlock: shape('Redlock on five servers', { servers: 5 }),
  postgres: shape('PostgreSQL', { ttlMs: 2000, boundMs: 9000 }),
  mysql: shape('MySQL (MariaDB)', { ttlMs: 2000, boundMs: 9000 }),
  // After an election etcd gives every lease its whole TTL again, and looks for those that ended
  // twice a second.
  etcd: shape('etcd, three members', { ttlMs: 4000, servers: 3, boundMs: 18_000 }),
  // A dead waiter's entry stays for its session; the C client pauses for a third of it when all
  // servers refuse.
  zookeeper: shape('ZooKeeper, three servers', { ttlMs: 3000, servers: 3, boundMs: 16_000 }),
}

export function isStoreName(name: string): name is StoreName {
  return (STORE_NAMES as readonly string[]).includes(name)
}
