/**
 * The Redis store as a subject: one server, a primary behind Sentinels, or a Cluster, through one
 * of the libraries.
 */
import { join } from 'node:path'
import type { Skip, Subject } from '@holdfast/conformance'
import { redisStore } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import { type LIBRARIES, openAny, type OpenClient } from '@holdfast/servers/redis-clients'
import { startCluster, type RedisCluster } from '@holdfast/servers/redis-cluster'
import { startSentinels, type SentinelGroup } from '@holdfast/servers/redis-sentinel'
import { startRedis } from '@holdfast/servers/redis'
import { raceCount, serverKillRounds } from '../../support/plan.js'
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
  /** How many clients are made before the first case. Default: none. */
  readonly clients?: number
  restart(): Promise<void>
  stop(): Promise<void>
}

/** As many as the cases that run at a time use. */
const SENTINEL_CLIENTS = 24

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
    clients: SENTINEL_CLIENTS,
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
  { name, where, killRounds: rounds, clients: made = 0, restart, stop }: Backing,
): Promise<RedisSubject> {
  const clients = new ReusedClients(() => openAny(library, where))
  const taken = await Promise.all(Array.from({ length: made }, () => clients.take()))
  for (const client of taken) clients.giveBack(client)
  const open = async (): Promise<Store> => {
    const opened = await clients.take()
    return closing(redisStore({ client: opened.client }), () => clients.giveBack(opened))
  }
  const probe = await open()
  const subject: Subject = {
    name: `${name}, through ${library}`,
    traits: probe.traits,
    open,
    async restart() {
      clients.forgetIdle()
      await restart()
    },
    worker: {
      command: process.execPath,
      args: [join(import.meta.dirname, '../workers/redis.mjs'), library, where],
    },
    shortTtlMs: SHORT_TTL_MS,
    slackMs: SLACK_MS,
    killRounds: rounds,
    races: raceCount(),
    skip: [REMEMBERS_FEW],
  }
  return {
    subject,
    async end() {
      await probe.close()
      clients.endAll()
      await stop()
    },
  }
}

/**
 * Connected clients, used again by one store after the other, as in a program that makes one at its
 * start. To make one of node-redis for Sentinels keeps the process busy for 100 ms, in which no
 * other case can renew its leases.
 */
class ReusedClients {
  readonly #make: () => OpenClient
  readonly #all = new Set<OpenClient>()
  #idle: OpenClient[] = []

  constructor(make: () => OpenClient) {
    this.#make = make
  }

  async take(): Promise<OpenClient> {
    const idle = this.#idle.pop()
    if (idle) return idle
    const made = this.#make()
    this.#all.add(made)
    // Connected, since cases with a short request timeout must not wait for the connection.
    await made.ready
    return made
  }

  giveBack(client: OpenClient): void {
    this.#idle.push(client)
  }

  /** Ends those that no store uses: the service is about to go. */
  forgetIdle(): void {
    for (const client of this.#idle) this.#end(client)
    this.#idle = []
  }

  endAll(): void {
    for (const client of this.#all) this.#end(client)
  }

  #end(client: OpenClient): void {
    this.#all.delete(client)
    client.end()
  }
}
