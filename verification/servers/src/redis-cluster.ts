/**
 * A private Redis Cluster: three primaries with a replica each. Its members learn of each other
 * from the files that they start with, so that it is up as fast as its servers are. A primary that
 * is dead is replaced after a second or two.
 */
import { randomBytes } from 'node:crypto'
import { eventually } from './eventually.js'
import { RedisServer, type RedisServerOptions } from './redis.js'
import { freePorts } from './ports.js'

export interface ClusterOptions {
  /**
   * Whether the rest works on while some slots have no primary. Default true: the server's own
   * default is false.
   */
  readonly partial?: boolean
  readonly config?: RedisServerOptions['config']
  /** Keep what was written through a restart. */
  readonly appendOnly?: boolean
}

/** A member, by the number of its shard. */
export interface Member {
  readonly id: string
  readonly server: RedisServer
  readonly shard: number
}

const HOST = '127.0.0.1'
const SLOTS = 16_384
export const SHARDS = 3
const NODE_TIMEOUT_MS = 1000

interface Plan {
  readonly id: string
  readonly port: number
  readonly busPort: number
  readonly shard: number
  readonly isReplica: boolean
}

export class RedisCluster {
  readonly host = HOST
  readonly members: readonly Member[]

  constructor(members: readonly Member[]) {
    this.members = members
  }

  get ports(): readonly number[] {
    return this.members.map(({ server }) => server.port)
  }

  async start(): Promise<void> {
    await Promise.all(this.members.map(({ server }) => server.start()))
    await this.untilWhole()
  }

  /** The member that owns a key now. */
  async ownerOf(key: string): Promise<Member> {
    const asked = await this.#alive()
    const slot = await this.slotOf(key)
    const lines = (await asked.server.command('CLUSTER', 'NODES')).split('\n')
    const line = lines.find((text) => / connected | disconnected /.test(text) && owns(text, slot))
    const found = this.members.find(({ id }) => line?.startsWith(id) === true)
    if (!found) throw new Error(`No member owns the slot ${slot}.`)
    return found
  }

  /** The primary of a shard, or its replica. */
  async memberOf(shard: number, role: 'master' | 'slave'): Promise<Member> {
    for (const member of this.members) {
      if (member.shard !== shard) continue
      if ((await member.server.command('ROLE')).includes(role)) return member
    }
    throw new Error(`The shard ${shard} has no ${role}.`)
  }

  async slotOf(key: string): Promise<number> {
    const { server } = await this.#alive()
    return Number((await server.command('CLUSTER', 'KEYSLOT', key)).slice(1))
  }

  /** Waits until another member than this one owns what it owned, and accepts writes. */
  async untilReplaced(dead: Member): Promise<Member> {
    const next = this.members.find(({ shard, id }) => shard === dead.shard && id !== dead.id)
    if (!next) throw new Error('The member has no replica.')
    await eventually('another primary', async () =>
      (await next.server.command('ROLE')).includes('master'),
    )
    await eventually('the cluster is whole', async () =>
      (await next.server.command('CLUSTER', 'INFO')).includes('cluster_state:ok'),
    )
    return next
  }

  /** Waits until all members run, agree, and every primary has a replica that follows. */
  async untilWhole(): Promise<void> {
    await eventually('the cluster is whole', async () => {
      const infos = await Promise.all(
        this.members.map(({ server }) => server.command('CLUSTER', 'INFO')),
      )
      if (!infos.every((info) => info.includes('cluster_state:ok'))) return false
      const roles = await Promise.all(
        this.members.map(({ server }) => server.command('INFO', 'replication')),
      )
      return roles.filter((role) => role.includes('master_link_status:up')).length === SHARDS
    })
  }

  /**
   * Begins to move a slot: from now on the members send clients from one to the other, key by key.
   */
  async beginMove(slot: number, from: Member, to: Member): Promise<void> {
    await expectOk(to, 'CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', from.id)
    await expectOk(from, 'CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', to.id)
  }

  /** Moves keys of a slot. Without a number all that are there. Returns how many. */
  async moveKeys(slot: number, from: Member, to: Member, limit = 1000): Promise<number> {
    const reply = await from.server.command('CLUSTER', 'GETKEYSINSLOT', String(slot), String(limit))
    const keys = reply.split('\r\n').filter((line) => line !== '' && !/^[*$]\d+$/.test(line))
    if (keys.length === 0) return 0
    await expectOk(from, 'MIGRATE', HOST, String(to.server.port), '', '0', '5000', 'KEYS', ...keys)
    return keys.length
  }

  async endMove(slot: number, from: Member, to: Member): Promise<void> {
    for (const member of [to, from])
      await expectOk(member, 'CLUSTER', 'SETSLOT', String(slot), 'NODE', to.id)
  }

  async moveSlot(slot: number, from: Member, to: Member): Promise<void> {
    await this.beginMove(slot, from, to)
    await this.moveKeys(slot, from, to)
    await this.endMove(slot, from, to)
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map(({ server }) => server.stop()))
  }

  async #alive(): Promise<Member> {
    for (const member of this.members) {
      const reply = await member.server.command('PING').catch(() => '')
      if (reply.startsWith('+PONG')) return member
    }
    throw new Error('No member of the cluster answers.')
  }
}

async function expectOk({ server }: Member, ...command: string[]): Promise<void> {
  const reply = await server.command(...command)
  if (!reply.startsWith('+')) throw new Error(`${command.join(' ')}: ${reply}`)
}

/** Whether a line of CLUSTER NODES is that of a primary which owns the slot. */
function owns(line: string, slot: number): boolean {
  const [, , flags = '', , , , , , ...ranges] = line.split(' ')
  if (!flags.includes('master') || flags.includes('fail')) return false
  return ranges.some((range) => {
    const [first, last = first] = range.split('-').map(Number)
    return first !== undefined && last !== undefined && first <= slot && slot <= last
  })
}

/** Starts six servers on free ports. */
export async function startCluster({
  partial = true,
  appendOnly = false,
  config = [],
}: ClusterOptions = {}): Promise<RedisCluster> {
  const ports = await freePorts(4 * SHARDS)
  const plans = Array.from({ length: 2 * SHARDS }, (_, index): Plan => {
    return {
      id: randomBytes(20).toString('hex'),
      port: ports[2 * index] ?? 0,
      busPort: ports[2 * index + 1] ?? 0,
      shard: index % SHARDS,
      isReplica: index >= SHARDS,
    }
  })
  const members = plans.map((self): Member => {
    const server = new RedisServer(self.port, {
      appendOnly,
      files: { 'nodes.conf': nodesFile(self, plans) },
      config: [
        ['cluster-enabled', 'yes'],
        ['cluster-config-file', 'nodes.conf'],
        ['cluster-port', String(self.busPort)],
        ['cluster-node-timeout', String(NODE_TIMEOUT_MS)],
        ['cluster-require-full-coverage', partial ? 'no' : 'yes'],
        ['cluster-allow-replica-migration', 'no'],
        ['repl-diskless-sync-delay', '0'],
        ...config,
      ],
    })
    return { id: self.id, server, shard: self.shard }
  })
  const cluster = new RedisCluster(members)
  try {
    await cluster.start()
  } catch (error) {
    await cluster.stop()
    throw error
  }
  return cluster
}

/** What a member would have written down, had it been in the cluster before. */
function nodesFile(self: Plan, all: readonly Plan[]): string {
  const lines = all.map(({ id, port, busPort, shard, isReplica }) => {
    const flags = `${id === self.id ? 'myself,' : ''}${isReplica ? 'slave' : 'master'}`
    const primary = isReplica ? (all[shard]?.id ?? '-') : '-'
    const slots = isReplica ? '' : ` ${edge(shard)}-${edge(shard + 1) - 1}`
    return `${id} ${HOST}:${port}@${busPort} ${flags} ${primary} 0 0 ${shard + 1} connected${slots}`
  })
  return `${lines.join('\n')}\nvars currentEpoch ${SHARDS} lastVoteEpoch 0\n`
}

function edge(shard: number): number {
  return Math.floor((SLOTS * shard) / SHARDS)
}
