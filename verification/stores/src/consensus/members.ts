/** Members that choose a leader, as a target. */
import { eventually } from '@holdfast/servers/eventually'
import { cutOff, cutOneSided, type Home } from '@holdfast/servers/network'
import type { Service } from '@holdfast/servers/service'
import { cutFollower, type Spotter } from './cut-follower.js'
import { moveMember } from './move-member.js'
import { nodeOf, type Action, type Target } from '../faults/target.js'

export interface Cluster {
  readonly members: readonly Service[]
  leader(): Promise<number>
  stop(): Promise<void>
}

/**
 * Another fault may have ended a leader a moment ago: then there is none until the next one is
 * chosen.
 */
export async function leaderOf(cluster: Cluster): Promise<number> {
  let leader = 0
  await eventually('a member leads', async () => {
    leader = await cluster.leader()
    return true
  })
  return leader
}

/**
 * @param homes empty without a network of its own
 * @param spotter makes what spots the request after which to cut a follower off
 */
export function membersTarget(
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
