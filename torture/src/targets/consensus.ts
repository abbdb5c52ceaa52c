/** Three members of etcd, or three servers of ZooKeeper. */
import { startEtcd } from '@holdfast/servers/etcd'
import { startZooKeeper } from '@holdfast/servers/zookeeper'
import type { Service } from '@holdfast/servers/service'
import { nodeOf, type Action, type Target } from './target.js'

interface Cluster {
  readonly members: readonly Service[]
  leader(): Promise<number>
  stop(): Promise<void>
}

export async function etcdTarget(members: number): Promise<Target> {
  const cluster = await startEtcd({ members })
  return targetOf(
    cluster,
    'etcd',
    cluster.endpoints.map((endpoint) => Number(new URL(endpoint).port)),
  )
}

export async function zookeeperTarget(servers: number): Promise<Target> {
  const ensemble = await startZooKeeper({ servers })
  return targetOf(ensemble, 'zookeeper', ensemble.ports)
}

function targetOf(cluster: Cluster, name: string, ports: readonly number[]): Target {
  const killLeader: Action = async () => {
    const leader = cluster.members[await cluster.leader()]
    await leader?.crash()
    return async () => void (await leader?.start())
  }
  return {
    nodes: cluster.members.map((member, index) => nodeOf(`${name} ${index + 1}`, ports[index] ?? 0, member)),
    connection: (its) => ({ ports: its }),
    actions: { 'leader-kill': killLeader },
    stop: () => cluster.stop(),
  }
}
