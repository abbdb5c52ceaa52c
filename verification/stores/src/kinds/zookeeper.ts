/** Three servers of ZooKeeper. */
import { HOMES } from '@holdfast/servers/network'
import { ask, NEWEST_ZOOKEEPER, startZooKeeper, TICK_MS } from '@holdfast/servers/zookeeper'
import { membersTarget } from '../consensus/members.js'
import { CONSENSUS } from '../consensus/promises.js'
import { USUAL, type OpenOptions, type OpenStore, type StoreDescriptor } from '../descriptor.js'
import { needNetwork } from '../faults/catalogue.js'
import { absent, everywhere } from '../faults/promises.js'
import type { Target } from '../faults/target.js'
import { hostsOf, portOf } from '../connection.js'
import { ofMembers, restartFirst } from '../service.js'
import { spotLateRenewals } from './zookeeper/late-renewals.js'

const SERVERS = 3
/** A leader that hears nothing leads on for this many ticks: ten seconds, the default. */
const SYNC_LIMIT = 20

const NO_CLOCK = absent('its sessions count by a monotonic clock; not driven here')

export const store: StoreDescriptor = {
  name: 'zookeeper',
  title: 'ZooKeeper, three servers',
  order: 100,
  service: {
    libraries: { daily: [] },
    needs: [
      ['java', 'default-jre-headless'],
      ['/usr/share/java/zookeeper.jar', 'zookeeper'],
    ],
    newest: [NEWEST_ZOOKEEPER],
    async start({ members: servers = 1 } = {}) {
      const ensemble = await startZooKeeper({ servers })
      return {
        ...ofMembers(ensemble.connect.split(','), ensemble.members, () => ensemble.stop()),
        restart: () => restartFirst(ensemble.members),
        cluster: ensemble,
        version: () => ask(ensemble.ports[0] ?? 0, 'srvr'),
      }
    },
    open: openZooKeeper,
  },
  suite: {},
  besidePreviousMs: 1500,
  samples: ([server]) => ({ ports: { '2181': portOf(server) } }),
  torture: {
    ...USUAL,
    // A dead waiter's entry stays for its session; the C client pauses for a third of it when all
    // servers refuse.
    ttlMs: 3000,
    servers: SERVERS,
    boundMs: 16_000,
    exports: false,
    findsDeadlocks: false,
    promises: everywhere({
      'clock-forward': NO_CLOCK,
      'clock-back': NO_CLOCK,
      ...CONSENSUS,
      oom: absent('not driven here: a Java server without memory ends, as in server-kill'),
    }),
    start: ({ kinds }) => zookeeperTarget(needNetwork(kinds)),
    open: (connection, _index, load) => openZooKeeper(hostsOf(connection).split(','), { load }),
    url: (connection) => `zk://${hostsOf(connection)}?tickMs=${TICK_MS}`,
  },
}

async function openZooKeeper(
  servers: readonly string[],
  { load }: Pick<OpenOptions, 'load'>,
): Promise<OpenStore> {
  const { zookeeperStore } = await load<typeof import('holdfast/zookeeper')>('zookeeper')
  const connect = servers.join()
  return { store: zookeeperStore({ connect, tickMs: TICK_MS }), end: () => undefined }
}

/** @param apart in a network where the way between members can be cut */
async function zookeeperTarget(apart: boolean): Promise<Target> {
  const homes = apart ? HOMES.slice(0, SERVERS) : []
  const config = apart ? { syncLimit: SYNC_LIMIT } : {}
  const ensemble = await startZooKeeper({ servers: SERVERS, homes, config })
  return membersTarget(ensemble, 'zookeeper', ensemble.ports, homes, spotLateRenewals)
}
