/** One Redis server. */
import { USUAL, type StoreDescriptor } from '../descriptor.js'
import { everywhere } from '../faults/promises.js'
import { hostsOf } from '../connection.js'
import { libraryInTurn, REDIS_NEEDS, redisUrl } from '../redis/clients.js'
import { REDIS } from '../redis/promises.js'
import { serversApart } from '../redis/servers-apart.js'

export const store: StoreDescriptor = {
  name: 'redis',
  title: 'Redis',
  order: 30,
  torture: {
    ...USUAL,
    promises: everywhere(REDIS),
    needs: REDIS_NEEDS,
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
