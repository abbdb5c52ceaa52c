/**
 * A private Redis primary with replicas, watched by three Sentinels. They find a primary dead after
 * a second, and put a replica in its place.
 */
import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { eventually } from './eventually.js'
import { askSentinel, redisProgram, RedisServer, type RedisServerOptions } from './redis.js'
import { makeFolder, removeFolder } from './folders.js'
import { freePorts } from './ports.js'
import { Service } from './service.js'

export interface SentinelOptions {
  /** Default 1. */
  readonly replicas?: number
  /** For the primary and its replicas. */
  readonly config?: RedisServerOptions['config']
  /** Keep what was written through a restart. */
  readonly appendOnly?: boolean
}

/** What the Sentinels call the primary. */
export const SENTINEL_NAME = 'locks'
const HOST = '127.0.0.1'
const SENTINELS = 3
const QUORUM = 2

export class SentinelGroup {
  readonly name = SENTINEL_NAME
  readonly host = HOST
  readonly servers: readonly RedisServer[]
  readonly sentinels: readonly Service[]
  readonly sentinelPorts: readonly number[]
  readonly #folder: string

  constructor(servers: readonly RedisServer[], ports: readonly number[]) {
    this.servers = servers
    this.sentinelPorts = ports
    this.#folder = makeFolder('sentinel')
    this.sentinels = ports.map((port) => this.#sentinel(port))
  }

  async start(): Promise<void> {
    const [primary, ...replicas] = this.servers
    await Promise.all(this.servers.map((server) => server.start()))
    // Not by their settings: a replica that has taken over must not follow the old primary again
    // when it restarts.
    for (const replica of replicas) await replica.command('REPLICAOF', HOST, String(primary?.port))
    await eventually('the replicas follow', () => this.#replicasFollow())
    await Promise.all(this.sentinels.map((sentinel) => sentinel.start()))
    await eventually('the Sentinels know each other and the replicas', () => this.#sentinelsAgree())
  }

  /** The server that the Sentinels take for the primary. */
  async primary(): Promise<RedisServer> {
    for (const port of this.sentinelPorts) {
      const reply = await askSentinel(port, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', this.name).catch(
        () => '',
      )
      const found = this.servers.find((server) => reply.includes(`\r\n${server.port}\r\n`))
      if (found) return found
    }
    throw new Error('No Sentinel names a primary.')
  }

  /** The first server that is not the primary. */
  async replica(): Promise<RedisServer> {
    const primary = await this.primary()
    const found = this.servers.find((server) => server !== primary)
    if (!found) throw new Error('There is no replica.')
    return found
  }

  /** Waits until another server than this one is the primary by its own account. */
  async untilReplaced(dead: RedisServer): Promise<RedisServer> {
    await eventually('another primary', async () => {
      const primary = await this.primary()
      return primary !== dead && (await primary.command('ROLE')).includes('master')
    })
    return this.primary()
  }

  /** Starts a server that was killed, and waits until it follows the one in its place. */
  async rejoin(server: RedisServer): Promise<void> {
    await server.start()
    await this.untilWhole()
  }

  /**
   * Waits until the Sentinels agree on a primary, and all others follow it. A replaced
   * primary that returns gets the order to follow: the Sentinels would take ten seconds for that.
   */
  async untilWhole(): Promise<void> {
    await eventually('the replicas follow', async () => {
      const primary = await this.#agreed()
      if (!primary) return false
      for (const server of this.servers) {
        const leads = (await server.command('ROLE')).includes('master')
        if (leads && server !== primary) await follow(server, HOST, String(primary.port))
        if (!leads && server === primary) await follow(server, 'NO', 'ONE')
      }
      return this.#replicasFollow()
    })
  }

  async stop(): Promise<void> {
    await Promise.all(this.sentinels.map((sentinel) => sentinel.crash()))
    await Promise.all(this.servers.map((server) => server.stop()))
    removeFolder(this.#folder)
  }

  #sentinel(port: number): Service {
    const file = join(this.#folder, `${port}.conf`)
    const [primary] = this.servers
    // Sentinels write into their file what they find out.
    const lines = [
      `port ${port}`,
      `bind ${HOST}`,
      `dir ${this.#folder}`,
      `sentinel monitor ${this.name} ${HOST} ${primary?.port ?? 0} ${QUORUM}`,
      `sentinel down-after-milliseconds ${this.name} 1000`,
      `sentinel failover-timeout ${this.name} 3000`,
    ]
    writeFileSync(file, `${lines.join('\n')}\n`)
    return new Service({
      name: 'redis-sentinel',
      command: redisProgram(),
      args: [file, '--sentinel'],
      ready: async () => (await askSentinel(port, 'PING')).startsWith('+PONG'),
    })
  }

  /**
   * The primary, if all Sentinels name the same one, think it well, and none of them is about to
   * replace it.
   */
  async #agreed(): Promise<RedisServer | undefined> {
    const replies = await this.#views()
    const named = replies.map((reply) => (isWell(reply) ? fieldOf(reply, 'port') : undefined))
    return this.servers.find(({ port }) => named.every((name) => name === String(port)))
  }

  #views(): Promise<string[]> {
    return Promise.all(
      this.sentinelPorts.map((port) => askSentinel(port, 'SENTINEL', 'MASTER', this.name)),
    )
  }

  async #replicasFollow(): Promise<boolean> {
    const roles = await Promise.all(
      this.servers.map((server) => server.command('INFO', 'replication')),
    )
    const primaries = roles.filter((role) => role.includes('role:master'))
    const following = roles.filter((role) => role.includes('master_link_status:up'))
    return primaries.length === 1 && following.length === this.servers.length - 1
  }

  async #sentinelsAgree(): Promise<boolean> {
    const replies = await this.#views()
    const replicas = this.servers.length - 1
    return replies.every(
      (reply) =>
        fieldOf(reply, 'num-other-sentinels') === String(SENTINELS - 1) &&
        fieldOf(reply, 'num-slaves') === String(replicas),
    )
  }
}

/** As the Sentinels do it: clients are sent away, so that they look who leads now. */
async function follow(server: RedisServer, ...whom: readonly string[]): Promise<void> {
  await server.command('REPLICAOF', ...whom)
  for (const type of ['normal', 'pubsub']) await server.command('CLIENT', 'KILL', 'TYPE', type)
}

/** A field of a reply that is a list of names and values. */
function fieldOf(reply: string, field: string): string | undefined {
  const lines = reply.split('\r\n')
  return lines[lines.indexOf(field) + 2]
}

function isWell(reply: string): boolean {
  return fieldOf(reply, 'flags') === 'master'
}

/** Starts all of them on free ports. */
export async function startSentinels({
  replicas = 1,
  appendOnly = false,
  config = [],
}: SentinelOptions = {}): Promise<SentinelGroup> {
  const ports = await freePorts(1 + replicas + SENTINELS)
  const [primary = 0, ...others] = ports
  const servers = [primary, ...others.slice(0, replicas)].map(
    (port) =>
      new RedisServer(port, { appendOnly, config: [['repl-diskless-sync-delay', '0'], ...config] }),
  )
  const group = new SentinelGroup(servers, others.slice(replicas))
  try {
    await group.start()
  } catch (error) {
    await group.stop()
    throw error
  }
  return group
}
