/**
 * The Redis store as a subject: one server, a primary behind Sentinels, or a Cluster, through one
 * of the libraries.
 */
import { join } from 'node:path'
import type { Skip, Subject } from '@holdfast/conformance'
import { redisStore } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import { LIBRARIES, openAny, type OpenClient } from '@holdfast/servers/redis-clients'
import { startCluster, type RedisCluster } from '@holdfast/servers/redis-cluster'
import { startSentinels, type SentinelGroup } from '@holdfast/servers/redis-sentinel'
import { startRedis } from '@holdfast/servers/redis'
import { serverKillRounds } from '../../support/plan.js'
import { SHORT_TTL_MS, SLACK_MS } from '../runner.js'
import { closing } from './closing.js'

/** Two other cases check the tombstones that the store keeps. */
export const REMEMBERS_FEW: Skip = {
  reason:
    'of the claims whose attempts were answered the store remembers the last four or five that were released',
  tests: ['the tombstone of a withdrawn claim outlasts a hundred later claims'],
}

export type Library = (typeof LIBRARIES)[number]

export interface RedisSubject {
  readonly subject: Subject
  /** Ends the servers and the clients. */
  end(): Promise<void>
}

/** Servers that run already. */
interface Backing {
  readonly name: string
  /** Where clients find them; see `openAny`. */
  readonly where: string
  /** How many processes the crash tests kill here. */
  readonly killRounds: number
  restart(): Promise<void>
  stop(): Promise<void>
}

/** Fewer processes are killed here than on one server, whose rule is the same. */
const FEWER_KILLS = 5

export async function redisSubject(library: Library): Promise<RedisSubject> {
  const server = await startRedis({ appendOnly: true })
  return subjectOf(library, {
    name: 'redis',
    where: server.url,
    killRounds: serverKillRounds(),
    async restart() {
      await server.kill()
      await server.start()
    },
    stop: () => server.stop(),
  })
}

export async function sentinelSubject(
  library: Library,
): Promise<RedisSubject & { readonly group: SentinelGroup }> {
  const group = await startSentinels({ appendOnly: true })
  const made = await subjectOf(library, {
    name: 'redis with Sentinels',
    where: `sentinel:${group.name}:${group.sentinelPorts.join(',')}`,
    killRounds: Math.ceil(serverKillRounds() / FEWER_KILLS),
    async restart() {
      // The Sentinels do not notice it.
      const primary = await group.primary()
      await primary.kill()
      await primary.start()
    },
    stop: () => group.stop(),
  })
  return { ...made, group }
}

export async function clusterSubject(
  library: Library,
): Promise<RedisSubject & { readonly cluster: RedisCluster }> {
  const cluster = await startCluster({ appendOnly: true })
  const made = await subjectOf(library, {
    name: 'a Redis Cluster',
    where: `cluster:${cluster.ports.join(',')}`,
    killRounds: Math.ceil(serverKillRounds() / FEWER_KILLS),
    async restart() {
      await Promise.all(cluster.members.map(({ server }) => server.kill()))
      await cluster.start()
    },
    stop: () => cluster.stop(),
  })
  return { ...made, cluster }
}

async function subjectOf(
  library: Library,
  { name, where, killRounds: rounds, restart, stop }: Backing,
): Promise<RedisSubject> {
  const clients = new Set<OpenClient>()
  const open = async (): Promise<Store> => {
    const opened = openAny(library, where)
    clients.add(opened)
    // Connected, since cases with a short request timeout must not wait for the connection.
    await opened.ready
    return closing(redisStore({ client: opened.client }), () => {
      clients.delete(opened)
      opened.end()
    })
  }
  const probe = await open()
  const subject: Subject = {
    name: `${name}, through ${library}`,
    traits: probe.traits,
    open,
    restart,
    worker: {
      command: process.execPath,
      args: [join(import.meta.dirname, '../workers/redis.mjs'), library, where],
    },
    shortTtlMs: SHORT_TTL_MS,
    slackMs: SLACK_MS,
    killRounds: rounds,
    skip: [REMEMBERS_FEW],
  }
  return {
    subject,
    async end() {
      await probe.close()
      for (const { end } of clients) end()
      await stop()
    },
  }
}
