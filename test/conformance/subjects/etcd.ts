/** An etcd cluster as a subject. */
import { join } from 'node:path'
import type { Subject } from '@holdfast/conformance'
import { etcdStore } from 'holdfast/etcd'
import { startEtcd, type EtcdCluster } from '@holdfast/servers/etcd'
import { raceCount, serverKillRounds } from '../../support/plan.js'
import { SHORT_TTL_MS, SLACK_MS } from '../runner.js'

export interface EtcdSubject {
  readonly subject: Subject
  readonly cluster: () => EtcdCluster
  start(): Promise<void>
  stop(): Promise<void>
}

/** Makes the subject. `start` starts the cluster, which the suite does not need before that. */
export function etcdSubject(members: number): EtcdSubject {
  let started: EtcdCluster | undefined
  const cluster = (): EtcdCluster => {
    if (!started) throw new Error('etcd was not started.')
    return started
  }
  const subject: Subject = {
    name: members === 1 ? 'etcd' : `etcd with ${members} members`,
    traits: etcdStore({ endpoints: ['127.0.0.1:1'] }).traits,
    open: () => etcdStore({ endpoints: cluster().endpoints }),
    async restart() {
      const [first] = cluster().members
      await first?.crash()
      await first?.start()
    },
    worker: {
      command: process.execPath,
      args: [join(import.meta.dirname, '../workers/etcd.mjs')],
      // Read when a worker starts, which is after the cluster started.
      get env() {
        return { HOLDFAST_TEST_ENDPOINTS: cluster().endpoints.join() }
      },
    },
    shortTtlMs: SHORT_TTL_MS,
    slackMs: SLACK_MS,
    killRounds: serverKillRounds(),
    races: raceCount(),
  }
  return {
    subject,
    cluster,
    async start() {
      started = await startEtcd({ members })
    },
    async stop() {
      await started?.stop()
    },
  }
}
