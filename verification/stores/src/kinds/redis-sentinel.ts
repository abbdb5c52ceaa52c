/** A Redis primary with a replica, watched by Sentinels. */
import { SENTINEL_NAME, startSentinels } from '@holdfast/servers/redis-sentinel'
import { USUAL, type StoreDescriptor } from '../descriptor.js'
import { everywhere } from '../faults/promises.js'
import { libraryInTurn, REDIS_NEEDS, REDIS_NEWEST } from '../redis/clients.js'
import { REPLICATED } from '../redis/promises.js'
import { mapped, sentinelTarget } from '../redis/replicated.js'
import { openRedis } from '../redis/service.js'
import { FEWER_KILLS, REMEMBERS_FEW, reusedClients } from '../redis/suite.js'

/** As many as the cases of the suite use that run at a time. */
const SUITE_CLIENTS = 24

export const store: StoreDescriptor = {
  name: 'redis-sentinel',
  title: 'Redis with Sentinels',
  order: 40,
  service: {
    libraries: { daily: ['ioredis6'], others: ['redis6', 'ioredis5'] },
    needs: REDIS_NEEDS,
    newest: REDIS_NEWEST,
    async start() {
      const group = await startSentinels({ appendOnly: true })
      return {
        at: [`sentinel:${group.name}:${group.sentinelPorts.join(',')}`],
        async down() {
          await Promise.all(group.sentinels.map((sentinel) => sentinel.crash()))
          await Promise.all(group.servers.map((server) => server.kill()))
        },
        up: () => group.start(),
        remove: () => group.stop(),
        async restart() {
          // The Sentinels do not notice it.
          const primary = await group.primary()
          await primary.kill()
          await primary.start()
        },
      }
    },
    open: openRedis,
  },
  suite: {
    onOneNode: true,
    skip: [REMEMBERS_FEW],
    kills: FEWER_KILLS,
    reuse: reusedClients(SUITE_CLIENTS),
  },
  torture: {
    ...USUAL,
    // Leases that outlast a failover, and clients that have to find the new primary.
    ttlMs: 3000,
    servers: 2,
    boundMs: 14_000,
    promises: everywhere(REPLICATED),
    start: () => sentinelTarget(),
    async open({ seeds = [], routes }, index, load) {
      const { redisStore } = await load<typeof import('holdfast/redis')>('redis')
      const { openSentinelClient } = await import('@holdfast/servers/redis-clients')
      const library = await libraryInTurn(index)
      const sentinels = { name: SENTINEL_NAME, ports: seeds }
      const { client, end } = openSentinelClient(library, sentinels, mapped(library, routes))
      return { store: redisStore({ client }), end }
    },
  },
}
