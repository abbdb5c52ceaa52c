/** Three members of etcd. */
import { stallDisk } from '@holdfast/servers/disk'
import { NEWEST_ETCD, startEtcd } from '@holdfast/servers/etcd'
import { HOMES } from '@holdfast/servers/network'
import { leaderOf, membersTarget } from '../consensus/members.js'
import { CONSENSUS } from '../consensus/promises.js'
import { USUAL, type StoreDescriptor, type TargetOptions } from '../descriptor.js'
import { needNetwork } from '../faults/catalogue.js'
import { absent, everywhere, without } from '../faults/promises.js'
import type { Action, Target } from '../faults/target.js'
import { hostsOf, portOf } from '../connection.js'
import { ofMembers, restartFirst } from '../service.js'

const MEMBERS = 3
/** A leader and one that follows it can stall, and a majority is left. */
const MEMBERS_WITH_DISKS = 5
/** Half of the default: what a stalled leader says is false from the next election on. */
const SOON = ['--heartbeat-interval=50', '--election-timeout=500']

const OLD_LEADER = without(
  ['exclusion'],
  'etcd before 3.4.31 and 3.5.13: a leader that stood still ends sessions, as it wakes, that its successor has kept alive ' +
    '(etcd’s issue 15247); `holdfast doctor` warns of such servers',
)
const NO_CLOCK = absent(
  'its leases count by a monotonic clock; a Go program’s clock cannot be set apart',
)

export const store: StoreDescriptor = {
  name: 'etcd',
  title: 'etcd, three members',
  order: 90,
  service: {
    libraries: { daily: [] },
    needs: [['etcd', 'etcd-server']],
    newest: [NEWEST_ETCD],
    async start({ members = 1 } = {}) {
      const cluster = await startEtcd({ members })
      return {
        ...ofMembers(cluster.endpoints, cluster.members, () => cluster.stop()),
        restart: () => restartFirst(cluster.members),
        cluster,
        version: async () => (await fetch(`${cluster.endpoints[0] ?? ''}/version`)).text(),
      }
    },
    async open(endpoints, { load }) {
      const { etcdStore } = await load<typeof import('holdfast/etcd')>('etcd')
      return { store: etcdStore({ endpoints }), end: () => undefined }
    },
  },
  suite: {},
  // It counts in whole seconds.
  besidePreviousMs: 2000,
  samples: ([endpoint]) => ({ ports: { '2379': portOf(endpoint) } }),
  torture: {
    ...USUAL,
    // After an election etcd gives every lease its whole TTL again, and looks for those that ended
    // twice a second.
    ttlMs: 4000,
    servers: MEMBERS,
    boundMs: 18_000,
    promises: everywhere({
      ...CONSENSUS,
      'disk-stalled': { verdict: 'promised' },
      stall: OLD_LEADER,
      'quorum-loss': OLD_LEADER,
      oom: absent('not driven here: NOSPACE is tested with the store itself'),
      'clock-forward': NO_CLOCK,
      'clock-back': NO_CLOCK,
    }),
    mended: {
      server: NEWEST_ETCD,
      faults: ['stall', 'quorum-loss'],
      because: 'before 3.4.31 and 3.5.13 it may grant twice by itself',
    },
    start: etcdTarget,
    async open({ ports }, index, load) {
      const { etcdStore } = await load<typeof import('holdfast/etcd')>('etcd')
      // Clients begin with another member each.
      const first = index % ports.length
      const inTurn = [...ports.slice(first), ...ports.slice(0, first)]
      const endpoints = hostsOf({ ports: inTurn }).split(',')
      return { store: etcdStore({ endpoints }), end: () => undefined }
    },
    url: (connection) => `etcd://${hostsOf(connection)}`,
  },
}

async function etcdTarget({ kinds, newest }: TargetOptions): Promise<Target> {
  const disks = kinds.includes('disk-stalled')
  const count = disks ? MEMBERS_WITH_DISKS : MEMBERS
  // In a network where the way between members can be cut.
  const homes = needNetwork(kinds) ? HOMES.slice(0, count) : []
  const cluster = await startEtcd({
    members: count,
    homes,
    ...(newest ? { newest } : {}),
    ...(disks ? { newest: true, disks, args: SOON } : {}),
  })
  const ports = cluster.endpoints.map((endpoint) => Number(new URL(endpoint).port))
  const target = membersTarget(cluster, 'etcd', ports, homes)
  const stallDisks: Action = async ({ server }) => {
    const leader = await leaderOf(cluster)
    // No neighbours in the clients' lists: a try at each takes longer than a late renewal has.
    const follower = (leader + 2 + (server % 2)) % count
    const resume = [leader, follower].map((index) => stallDisk(cluster.folders[index] ?? ''))
    return () => resume.forEach((one) => one())
  }
  return { ...target, actions: { ...target.actions, 'disk-stalled': stallDisks } }
}
