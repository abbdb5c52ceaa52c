/** A Redis Cluster of three shards. */
import { startCluster } from '@holdfast/servers/redis-cluster'
import type { NodeRedisCluster } from 'holdfast/redis'
import { USUAL, type StoreDescriptor } from '../descriptor.js'
import type { Cell } from '../faults/cells.js'
import { everywhere } from '../faults/promises.js'
import { libraryInTurn, REDIS_NEEDS, REDIS_NEWEST, type Library } from '../redis/clients.js'
import { ASYNCHRONOUS, REPLICATED } from '../redis/promises.js'
import { clusterTarget, mapped } from '../redis/replicated.js'
import { openClientOf } from '../redis/service.js'
import { FEWER_KILLS, REMEMBERS_FEW, reusedClients } from '../redis/suite.js'

const PLANNED_FAILOVER: Cell = {
  verdict: 'promised',
  note: 'a planned failover: the servers themselves say who leads, and each keeps its address',
}

export const store: StoreDescriptor = {
  name: 'redis-cluster',
  title: 'Redis Cluster',
  order: 50,
  service: {
    libraries: { daily: ['redis6'], others: ['ioredis6', 'ioredis5'] },
    needs: REDIS_NEEDS,
    newest: REDIS_NEWEST,
    async start() {
      const cluster = await startCluster({ appendOnly: true })
      return {
        at: [`cluster:${cluster.ports.join(',')}`],
        down: () => Promise.all(cluster.members.map(({ server }) => server.kill())),
        up: () => cluster.start(),
        remove: () => cluster.stop(),
      }
    },
    async open([where = ''], { library, load }) {
      const { redisStore } = await load<typeof import('holdfast/redis')>('redis')
      const { client, ...rest } = await openClientOf(library as Library, where)
      if (library === 'redis6') connectAgain(client as NodeRedisCluster)
      return { store: redisStore({ client }), ...rest }
    },
  },
  suite: { onOneNode: true, skip: [REMEMBERS_FEW], kills: FEWER_KILLS, reuse: reusedClients() },
  torture: {
    ...USUAL,
    ttlMs: 3000,
    servers: 6,
    boundMs: 14_000,
    promises: everywhere({
      ...REPLICATED,
      'quorum-loss': ASYNCHRONOUS,
      'endpoint-moves': PLANNED_FAILOVER,
    }),
    start: () => clusterTarget(),
    async open({ seeds = [], routes }, index, load) {
      const { redisStore } = await load<typeof import('holdfast/redis')>('redis')
      const { openClusterClient } = await import('@holdfast/servers/redis-clients')
      const library = await libraryInTurn(index)
      const { client, end } = openClusterClient(library, seeds, mapped(library, routes))
      return { store: redisStore({ client }), end }
    },
  },
}

/**
 * Connects again and again: a cluster client of node-redis gives up when no member is up as it
 * connects.
 */
function connectAgain(client: NodeRedisCluster & { connect?(): Promise<unknown> }): void {
  const timer = setInterval(() => {
    if (!client.isOpen) client.connect?.().catch(() => undefined)
  }, 200)
  timer.unref()
  client.on('connect', () => clearInterval(timer))
}
