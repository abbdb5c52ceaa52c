/** Members of etcd, or servers of ZooKeeper. */
import { stallDisk } from '@holdfast/servers/disk'
import { startEtcd } from '@holdfast/servers/etcd'
import { eventually } from '@holdfast/servers/eventually'
import { startZooKeeper } from '@holdfast/servers/zookeeper'
import { cutOff, cutOneSided, HOMES, type Home } from '@holdfast/servers/network'
import type { Service } from '@holdfast/servers/service'
import { cutFollower, spotLateRenewals, type Spotter } from './cut-follower.js'
import { moveMember } from './move-member.js'
import { nodeOf, type Action, type Target } from './target.js'

interface Cluster {
  readonly members: readonly Service[]
  leader(): Promise<number>
  stop(): Promise<void>
}

/** A leader and one that follows it can stall, and a majority is left. */
const MEMBERS_WITH_DISKS = 5
/** Half of the default: what a stalled leader says is false from the next election on. */
const SOON = ['--heartbeat-interval=50', '--election-timeout=500']

export interface EtcdNeeds {
  /** A network where the way between members can be cut. */
  readonly apart: boolean
  /** Five members of the newest etcd, whose disks can stall. */
  readonly disks: boolean
  /** The newest etcd. */
  readonly newest: boolean
}

export async function etcdTarget(
  members: number,
  { apart, disks, newest }: EtcdNeeds,
): Promise<Target> {
  const count = disks ? MEMBERS_WITH_DISKS : members
  const homes = apart ? HOMES.slice(0, count) : []
  const cluster = await startEtcd({
    members: count,
    homes,
    ...(newest ? { newest } : {}),
    ...(disks ? { newest: true, disks, args: SOON } : {}),
  })
  const ports = cluster.endpoints.map((endpoint) => Number(new URL(endpoint).port))
  const target = targetOf(cluster, 'etcd', ports, homes)
  const stallDisks: Action = async ({ server }) => {
    const leader = await leaderOf(cluster)
    // No neighbours in the clients' lists: a try at each takes longer than a late renewal has.
    const follower = (leader + 2 + (server % 2)) % count
    const resume = [leader, follower].map((index) => stallDisk(cluster.folders[index] ?? ''))
    return () => resume.forEach((one) => one())
  }
  return { ...target, actions: { ...target.actions, 'disk-stalled': stallDisks } }
}

/** A leader that hears nothing leads on for this many ticks: ten seconds, the default. */
const SYNC_LIMIT = 20

/** @param apart in a network where the way between members can be cut */
export async function zookeeperTarget(servers: number, apart: boolean): Promise<Target> {
  const homes = apart ? HOMES.slice(0, servers) : []
  const ensemble = await startZooKeeper({
    servers,
    homes,
    config: apart ? { syncLimit: SYNC_LIMIT } : {},
  })
  return targetOf(ensemble, 'zookeeper', ensemble.ports, homes, spotLateRenewals)
}

/**
 * Another fault may have ended a leader a moment ago: then there is none until the next one is
 * chosen.
 */
async function leaderOf(cluster: Cluster): Promise<number> {
  let leader = 0
  await eventually('a member leads', async () => {
    leader = await cluster.leader()
    return true
  })
  return leader
}

function targetOf(
  cluster: Cluster,
  name: string,
  ports: readonly number[],
  homes: readonly Home[],
  spotter?: () => Spotter,
): Target {
  const killLeader: Action = async () => {
    const leader = cluster.members[await leaderOf(cluster)]
    await leader?.crash()
    return async () => void (await leader?.start())
  }
  const cutLeader =
    (cut: (leader: Home, others: readonly Home[]) => () => void): Action =>
    async () => {
      const home = homes[await leaderOf(cluster)]
      if (!home) throw new Error('The members have no homes, and cannot be cut off.')
      return cut(
        home,
        homes.filter((one) => one !== home),
      )
    }
  return {
    nodes: cluster.members.map((member, index) =>
      nodeOf(`${name} ${index + 1}`, ports[index] ?? 0, member),
    ),
    connection: (its) => ({ ports: its }),
    actions: {
      'leader-kill': killLeader,
      'endpoint-moves': moveMember(cluster.members, ports, homes, () => leaderOf(cluster)),
      'leader-isolated': cutLeader(cutOff),
      'leader-deposed': cutLeader((leader, others) => cutOneSided(others, [leader])),
      'leader-reset': cutLeader((leader, others) => cutOneSided([leader], others)),
      'follower-isolated': cutFollower(homes, () => leaderOf(cluster), spotter),
    },
    stop: () => cluster.stop(),
  }
}
