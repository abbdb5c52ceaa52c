/** Three members of etcd, or three servers of ZooKeeper. */
import { startEtcd } from '@holdfast/servers/etcd'
import { eventually } from '@holdfast/servers/eventually'
import { startZooKeeper } from '@holdfast/servers/zookeeper'
import { cutOff, cutOneSided, HOMES, type Home } from '@holdfast/servers/network'
import type { Service } from '@holdfast/servers/service'
import { nodeOf, type Action, type Target } from './target.js'

interface Cluster {
  readonly members: readonly Service[]
  leader(): Promise<number>
  stop(): Promise<void>
}

/** @param apart in a network where the way between members can be cut */
export async function etcdTarget(members: number, apart: boolean): Promise<Target> {
  const homes = apart ? HOMES : []
  const cluster = await startEtcd({ members, homes })
  return targetOf(
    cluster,
    'etcd',
    cluster.endpoints.map((endpoint) => Number(new URL(endpoint).port)),
    homes,
  )
}

/** A leader that hears nothing leads on for so many ticks: ten seconds, as by default. */
const SYNC_LIMIT = 20

/** @param apart in a network where the way between members can be cut */
export async function zookeeperTarget(servers: number, apart: boolean): Promise<Target> {
  const homes = apart ? HOMES : []
  const ensemble = await startZooKeeper({ servers, homes, config: apart ? { syncLimit: SYNC_LIMIT } : {} })
  return targetOf(ensemble, 'zookeeper', ensemble.ports, homes)
}

/** Another fault may have ended a leader a moment ago: then there is none until the next one is chosen. */
async function leaderOf(cluster: Cluster): Promise<number> {
  let leader = 0
  await eventually('a member leads', async () => {
    leader = await cluster.leader()
    return true
  })
  return leader
}

function targetOf(cluster: Cluster, name: string, ports: readonly number[], homes: readonly Home[]): Target {
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
    nodes: cluster.members.map((member, index) => nodeOf(`${name} ${index + 1}`, ports[index] ?? 0, member)),
    connection: (its) => ({ ports: its }),
    actions: {
      'leader-kill': killLeader,
      partition: cutLeader(cutOff),
      'leader-deposed': cutLeader((leader, others) => cutOneSided(others, [leader])),
      'leader-reset': cutLeader((leader, others) => cutOneSided([leader], others)),
    },
    stop: () => cluster.stop(),
  }
}
