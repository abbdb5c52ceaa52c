/** Redlock over five Redis servers that know nothing of each other. */
import { USUAL, type StoreDescriptor } from '../descriptor.js'
import { absent, everywhere, without } from '../faults/promises.js'
import { hostsOf, portOf } from '../connection.js'
import {
  libraryInTurn,
  REDIS_NEEDS,
  REDIS_NEWEST,
  redisUrl,
  type Library,
} from '../redis/clients.js'
import { REDIS } from '../redis/promises.js'
import { serversApart } from '../redis/servers-apart.js'
import { openClientOf, serviceOf, startServers } from '../redis/service.js'
import { REMEMBERS_FEW } from '../redis/suite.js'

const SERVERS = 5
/** Many clients share the machine with the servers. */
const LONG_NODE_TIMEOUT_MS = 2000
/** Clients of several libraries, in turn. */
const MIXED = 'mixed'
/** As many as can lose one. */
const FEWEST_SERVERS = 3

const FORGOTTEN_VOTE = without(
  ['exclusion', 'tokens', 'counter'],
  'a server that forgot its vote votes again, makes a second majority, and covers no token',
)

export const store: StoreDescriptor = {
  name: 'redlock',
  title: 'Redlock on five servers',
  order: 60,
  service: {
    libraries: { daily: [MIXED], others: ['ioredis6', 'redis6'] },
    needs: REDIS_NEEDS,
    newest: REDIS_NEWEST,
    start: async ({ members = FEWEST_SERVERS } = {}) => serviceOf(await startServers(members)),
    async open(urls, { library, load, crowded }) {
      const { redlockStore } = await load<typeof import('holdfast/redlock')>('redlock')
      const opened = await Promise.all(urls.map((url, node) => openNode(library, url, node)))
      const each = (work: (one: (typeof opened)[number]) => unknown): Promise<unknown> =>
        Promise.all(opened.map(work))
      return {
        store: redlockStore({
          clients: opened.map(({ client }) => client),
          ...(crowded ? { nodeTimeoutMs: LONG_NODE_TIMEOUT_MS } : {}),
        }),
        ready: () => each(({ ready }) => ready()),
        end: () => each(({ end }) => end()),
        quit: () => each(({ quit }) => quit()),
      }
    },
    showsWaiters: false,
  },
  suite: {
    onOneNode: true,
    // Each node forgets as the Redis store does.
    skip: [REMEMBERS_FEW],
    // The request timeout of a node is shorter than this, and five servers share the machine.
    shortTtls: 1.5,
    members: SERVERS,
    atomicVerbs: false,
  },
  besidePreviousMs: 1500,
  samples: (urls) => {
    const ports = urls.map(portOf)
    const at = (names: readonly string[]): [string, number][] =>
      names.map((name, index) => [name, ports[index] ?? 0])
    const places = [
      ...at(['6379', '6380', '6381']),
      ...at(['redis-a:6379', 'redis-b:6379', 'redis-c:6379']),
    ]
    return { ports: Object.fromEntries(places) }
  },
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

async function openNode(
  library: string | undefined,
  url: string,
  node: number,
): ReturnType<typeof openClientOf> {
  return openClientOf(library === MIXED ? await libraryInTurn(node) : (library as Library), url)
}
