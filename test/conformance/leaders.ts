/** Kills the leader of a cluster every few seconds while something else goes on. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from '@holdfast/servers/service'
import { conformanceCases, type Subject } from 'holdfast/conformance'
import { describe, test } from 'vitest'
import { serverKillRounds } from '../support/plan.js'

export interface Cluster {
  readonly members: readonly Service[]
  /** The number of the member that leads now. */
  leader(): Promise<number>
}

/**
 * A new leader gives all sessions their whole time again, so the dead are forgotten only between
 * two of them.
 */
const EVERY_MS = 5000
/** How long the dead leader stays away, so that another is chosen. */
const AWAY_MS = 1500

/** What has to hold although the service stumbles all the time. */
const STEADY = [
  'contending processes exclude each other',
  'contending processes that are killed at random never hold together, and no token is given twice',
]

/**
 * The cases of the suite that hold without a leader now and then, while the leader is killed again
 * and again.
 */
export function suiteWhileLeadersDie(
  title: string,
  subject: Subject,
  cluster: () => Cluster,
): void {
  const patient = {
    ...subject,
    shortTtlMs: 2000,
    // The dead may have to be forgotten under the next leader, which gives them their whole time
    // again: one leader's time (seven seconds and the start of a server), an election, and the
    // session, before the living get through.
    slackMs: 30_000,
    killRounds: Math.ceil(serverKillRounds() / 3),
  }
  // A round is a second at most, and the start of a process.
  const limitMs = 120_000 + patient.killRounds * 4000
  describe(title, () => {
    for (const one of conformanceCases(patient)) {
      if (STEADY.includes(one.title))
        test(one.title, () => whileLeadersDie(cluster(), one.run), limitMs)
    }
  })
}

async function whileLeadersDie(cluster: Cluster, run: () => Promise<void>): Promise<void> {
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
