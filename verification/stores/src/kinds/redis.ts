/** One Redis server. */
import { USUAL, type StoreDescriptor } from '../descriptor.js'
import { everywhere } from '../faults/promises.js'
import { hostsOf, portOf } from '../connection.js'
import { libraryInTurn, REDIS_NEEDS, REDIS_NEWEST, redisUrl } from '../redis/clients.js'
import { REDIS } from '../redis/promises.js'
import { serversApart } from '../redis/servers-apart.js'
import { openRedis, serviceOf, startServers } from '../redis/service.js'
import { REMEMBERS_FEW, reusedClients } from '../redis/suite.js'

export const store: StoreDescriptor = {
  name: 'redis',
  title: 'Redis',
  order: 30,
  service: {
    libraries: { daily: ['ioredis6', 'redis6'], others: ['ioredis5'] },
    needs: REDIS_NEEDS,
    newest: REDIS_NEWEST,
    async start() {
      const servers = await startServers(1)
      return {
        ...serviceOf(servers),
        version: async () => servers[0]?.command('INFO', 'server') ?? '',
        async cut() {
          for (const type of ['normal', 'pubsub'])
            await servers[0]?.command('CLIENT', 'KILL', 'TYPE', type)
        },
      }
    },
    open: openRedis,
  },
  suite: { skip: [REMEMBERS_FEW], reuse: reusedClients() },
  besidePreviousMs: 1500,
  samples: ([url]) => ({ ports: { '6379': portOf(url) } }),
  torture: {
    ...USUAL,
    promises: everywhere(REDIS),
    start: ({ kinds }) => serversApart(1, kinds),
    async open({ ports: [port] }, index, load) {
      const { redisStore } = await load<typeof import('holdfast/redis')>('redis')
      const { openClient } = await import('@holdfast/servers/redis-clients')
      const { client, end } = openClient(await libraryInTurn(index), redisUrl(port))
      return { store: redisStore({ client }), end }
    },
    url: (connection) => `redis://${hostsOf(connection)}/0`,
  },
}
