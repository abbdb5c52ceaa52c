/** A ZooKeeper ensemble as a subject. */
import { join } from 'node:path'
import type { Subject } from '@holdfast/conformance'
import { zookeeperStore } from 'holdfast/zookeeper'
import { startZooKeeper, TICK_MS, type ZooKeeperEnsemble } from '@holdfast/servers/zookeeper'
import { raceCount, serverKillRounds } from '../../support/plan.js'
import { SHORT_TTL_MS, SLACK_MS } from '../runner.js'

export interface ZooKeeperSubject {
  readonly subject: Subject
  readonly ensemble: () => ZooKeeperEnsemble
  start(): Promise<void>
  stop(): Promise<void>
}

/** Makes the subject. `start` starts the ensemble, which the suite does not need before that. */
export function zookeeperSubject(servers: number): ZooKeeperSubject {
  let started: ZooKeeperEnsemble | undefined
  const ensemble = (): ZooKeeperEnsemble => {
    if (!started) throw new Error('ZooKeeper was not started.')
    return started
  }
  const subject: Subject = {
    name: servers === 1 ? 'ZooKeeper' : `ZooKeeper with ${servers} servers`,
    traits: zookeeperStore({ connect: '127.0.0.1:1' }).traits,
    open: () => zookeeperStore({ connect: ensemble().connect, tickMs: TICK_MS }),
    async restart() {
      const [first] = ensemble().members
      await first?.crash()
      await first?.start()
    },
    worker: {
      command: process.execPath,
      args: [join(import.meta.dirname, '../workers/zookeeper.mjs')],
      // Read when a worker starts, which is after the ensemble started.
      get env() {
        return { HOLDFAST_TEST_CONNECT: ensemble().connect, HOLDFAST_TEST_TICK_MS: String(TICK_MS) }
      },
    },
    shortTtlMs: SHORT_TTL_MS,
    slackMs: SLACK_MS,
    killRounds: serverKillRounds(),
    races: raceCount(),
  }
  return {
    subject,
    ensemble,
    async start() {
      started = await startZooKeeper({ servers })
    },
    async stop() {
      await started?.stop()
    },
  }
}
