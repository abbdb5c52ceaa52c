/** Kills the leader of a cluster every few seconds while cases run. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from '@holdfast/stores/descriptor'
import { conformanceCases, type Subject } from '@holdfast/conformance'
import { describe, test } from 'vitest'
import { serverKillRounds } from '../support/plan.js'

/** A new leader restarts the time of all sessions, so sessions end only between two elections. */
const EVERY_MS = 5000
/** How long a killed leader stays down, so that another is elected. */
const AWAY_MS = 1500

/** The cases that pass while leaders are killed. */
const STEADY = [
  'contending processes exclude each other',
  'contending processes that are killed at random exclude each other, and no token is granted twice',
]

/** Registers the cases of the suite that pass while the leader is killed every few seconds. */
export function suiteWhileLeadersDie(
  title: string,
  subject: Subject,
  cluster: Cluster | undefined,
): void {
  if (!cluster) throw new Error('There are no members that choose a leader.')
  const slow = {
    ...subject,
    shortTtlMs: 2000,
    // The next leader restarts the sessions of killed workers. So the others wait for one leader's
    // time (seven seconds and the start of a server), an election, and the session.
    slackMs: 30_000,
    killRounds: Math.ceil(serverKillRounds() / 3),
  }
  // A round is a second at most, and the start of a process.
  const limitMs = 120_000 + slow.killRounds * 4000
  describe(title, () => {
    for (const one of conformanceCases(slow)) {
      if (STEADY.includes(one.title))
        test(one.title, () => whileLeadersDie(cluster, one.run), limitMs)
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
    // During an election there is no leader.
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
