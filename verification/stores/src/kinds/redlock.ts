/** Redlock over five Redis servers that know nothing of each other. */
import { USUAL, type StoreDescriptor } from '../descriptor.js'
import { absent, everywhere, without } from '../faults/promises.js'
import { hostsOf } from '../connection.js'
import { libraryInTurn, REDIS_NEEDS, redisUrl } from '../redis/clients.js'
import { REDIS } from '../redis/promises.js'
import { serversApart } from '../redis/servers-apart.js'

const SERVERS = 5

const FORGOTTEN_VOTE = without(
  ['exclusion', 'tokens', 'counter'],
  'a server that forgot its vote votes again, makes a second majority, and covers no token',
)

export const store: StoreDescriptor = {
  name: 'redlock',
  title: 'Redlock on five servers',
  order: 60,
  torture: {
    ...USUAL,
    servers: SERVERS,
    findsDeadlocks: false,
    counts: false,
    promises: everywhere({
      ...REDIS,
      'restart-empty': FORGOTTEN_VOTE,
      flush: FORGOTTEN_VOTE,
      'clock-forward': without(
        ['exclusion'],
        'a server that ends a lease early votes again, and makes a second majority',
      ),
      failover: absent('its servers have no replicas'),
      'endpoint-moves': absent('its servers have no replicas; each alone is as in redis'),
      'quorum-loss': { verdict: 'promised' },
    }),
    needs: REDIS_NEEDS,
    start: ({ kinds }) => serversApart(SERVERS, kinds),
    async open({ ports }, index, load) {
      const { redlockStore } = await load<typeof import('holdfast/redlock')>('redlock')
      const { openClient } = await import('@holdfast/servers/redis-clients')
      const clients = await Promise.all(
        ports.map(async (port, node) => {
          const library = await libraryInTurn(index + node)
          return openClient(library, redisUrl(port))
        }),
      )
      const redlock = redlockStore({ clients: clients.map(({ client }) => client) })
      return { store: redlock, end: () => clients.forEach(({ end }) => end()) }
    },
    url: (connection) => `redlock://${hostsOf(connection)}`,
  },
}
