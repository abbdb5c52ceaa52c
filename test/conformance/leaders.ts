/** Kills the leader of a cluster every few seconds while something else goes on. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from '@holdfast/servers/service'

export interface Cluster {
  readonly members: readonly Service[]
  /** The number of the member that leads now. */
  leader(): Promise<number>
}

/** A new leader gives all sessions their whole time again, so the dead are forgotten only between two of them. */
const EVERY_MS = 5000
/** How long the dead leader stays away, so that another is chosen. */
const AWAY_MS = 1500

export async function whileLeadersDie(cluster: Cluster, run: () => Promise<void>): Promise<void> {
  const ended = new AbortController()
  const killing = killLeaders(cluster, ended.signal)
  try {
    await run()
  } finally {
    ended.abort()
    await killing
  }
}

async function killLeaders(cluster: Cluster, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    // Between two leaders there is none for a moment.
    const leader = await cluster.leader().catch(() => undefined)
    const member = leader === undefined ? undefined : cluster.members[leader]
    if (member) {
      await member.crash()
      await pause(AWAY_MS, ended)
      await member.start()
    }
    await pause(EVERY_MS, ended)
  }
}

function pause(ms: number, ended: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal: ended }).catch(() => undefined)
}
