/** A Redis Cluster of three shards. */
import { USUAL, type StoreDescriptor } from '../descriptor.js'
import type { Cell } from '../faults/cells.js'
import { everywhere } from '../faults/promises.js'
import { libraryInTurn, REDIS_NEEDS } from '../redis/clients.js'
import { ASYNCHRONOUS, REPLICATED } from '../redis/promises.js'
import { clusterTarget, mapped } from '../redis/replicated.js'

const PLANNED_FAILOVER: Cell = {
  verdict: 'promised',
  note: 'a planned failover: the servers themselves say who leads, and each keeps its address',
}

export const store: StoreDescriptor = {
  name: 'redis-cluster',
  title: 'Redis Cluster',
  order: 50,
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
    needs: REDIS_NEEDS,
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
