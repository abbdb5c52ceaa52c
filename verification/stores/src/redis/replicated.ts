/**
 * Redis whose primaries have replicas that take over: one watched by three Sentinels, or three in a
 * Cluster.
 */
import type { RedisServer } from '@holdfast/servers/redis'
import { SHARDS, startCluster } from '@holdfast/servers/redis-cluster'
import { startSentinels } from '@holdfast/servers/redis-sentinel'
import type { FaultKind } from '../faults/catalogue.js'
import type { Connection } from '../connection.js'
import type { Library } from './clients.js'
import { expectOk, flushAll, redisNode, refusals, type Which } from './redis-server.js'
import { nodeOf, type Action, type Target } from '../faults/target.js'

/** What the two have in common. */
interface Group {
  readonly servers: readonly RedisServer[]
  /** Those that lead now: of a Cluster one for each shard. */
  primaries(): Promise<readonly RedisServer[]>
  replicas(): Promise<readonly RedisServer[]>
  /** Resolves when another server is in the place of this one. */
  untilReplaced(dead: RedisServer): Promise<unknown>
  /** Resolves when every server runs, and every replica follows its primary. */
  untilWhole(): Promise<void>
}

const HOST = '127.0.0.1'

export async function sentinelTarget(): Promise<Target> {
  const group = await startSentinels({ appendOnly: true })
  const { servers, sentinels, sentinelPorts } = group
  const actions = actionsOn({
    servers,
    primaries: async () => [await group.primary()],
    replicas: async () => [await group.replica()],
    untilReplaced: (dead) => group.untilReplaced(dead),
    untilWhole: () => group.untilWhole(),
  })
  const loseSentinels: Action = ({ server }) => {
    const stopped = sentinels.filter((_, index) => index !== server)
    for (const sentinel of stopped) sentinel.kill('SIGSTOP')
    return async () => {
      for (const sentinel of stopped) sentinel.kill('SIGCONT')
      await group.untilWhole()
    }
  }
  return {
    nodes: [
      ...servers.map((server, index) => redisNode(() => server, `redis ${index + 1}`)),
      ...sentinels.map((sentinel, index) =>
        nodeOf(`sentinel ${index + 1}`, sentinelPorts[index] ?? 0, sentinel),
      ),
    ],
    connection: (ports) => ({
      ports,
      seeds: ports.slice(servers.length),
      routes: routesOf([...servers.map(({ port }) => port), ...sentinelPorts], ports),
    }),
    actions: { ...actions, 'quorum-loss': loseSentinels },
    stop: () => group.stop(),
  }
}

export async function clusterTarget(): Promise<Target> {
  const cluster = await startCluster({ appendOnly: true })
  const servers = cluster.members.map(({ server }) => server)
  const shards = Array.from({ length: SHARDS }, (_, shard) => shard)
  const inRole = (role: 'master' | 'slave') => (): Promise<readonly RedisServer[]> =>
    Promise.all(shards.map(async (shard) => (await cluster.memberOf(shard, role)).server))
  const actions = actionsOn({
    servers,
    primaries: inRole('master'),
    replicas: inRole('slave'),
    async untilReplaced(dead) {
      const member = cluster.members.find(({ server }) => server === dead)
      if (member) await cluster.untilReplaced(member)
    },
    untilWhole: () => cluster.untilWhole(),
  })
  const loseMajority: Action = ({ server }) => {
    const stopped = servers.filter((_, index) => index !== server)
    for (const one of stopped) one.pause()
    return async () => {
      for (const one of stopped) one.resume()
      await cluster.untilWhole()
    }
  }
  const moveLead: Action = async ({ server }) => {
    const shard = server % SHARDS
    const primary = await cluster.memberOf(shard, 'master')
    const replica = await cluster.memberOf(shard, 'slave')
    await expectOk(replica.server, 'CLUSTER', 'FAILOVER')
    await cluster.untilReplaced(primary)
    return () => cluster.untilWhole()
  }
  return {
    nodes: servers.map((server, index) => redisNode(() => server, `redis ${index + 1}`)),
    connection: (ports) => ({ ports, seeds: ports, routes: routesOf(cluster.ports, ports) }),
    actions: { ...actions, 'quorum-loss': loseMajority, 'endpoint-moves': moveLead },
    stop: () => cluster.stop(),
  }
}

/** The option by which a client reaches servers: the libraries have names of their own for it. */
export function mapped(library: Library, routes: Connection['routes'] = {}): object {
  return library.startsWith('io') ? { natMap: routes } : { nodeAddressMap: routes }
}

/** Servers tell clients of each other by their own addresses; this is how a client gets there. */
function routesOf(
  own: readonly number[],
  ports: readonly number[],
): NonNullable<Connection['routes']> {
  const routes = own.map((port, index) => [
    `${HOST}:${port}`,
    { host: HOST, port: ports[index] ?? 0 },
  ])
  return Object.fromEntries(routes) as NonNullable<Connection['routes']>
}

function actionsOn(group: Group): Partial<Record<FaultKind, Action>> {
  const { servers } = group
  const primary = among(() => group.primaries())
  const replica = among(() => group.replicas())
  const comeBack = async (server: RedisServer): Promise<void> => {
    await server.start()
    await group.untilWhole()
  }
  return {
    ...refusals(primary),
    stall({ server: index }) {
      const server = servers[index]
      server?.pause()
      return async () => {
        server?.resume()
        await group.untilWhole()
      }
    },
    async 'server-kill'({ server: index }) {
      const server = servers[index] as RedisServer
      await server.kill()
      return () => comeBack(server)
    },
    async 'replica-kill'(fault) {
      const server = await replica(fault)
      await server.kill()
      return () => comeBack(server)
    },
    async 'primary-kill'(fault) {
      const dead = await primary(fault)
      await dead.kill()
      return () => replace(group, dead)
    },
    async failover(fault) {
      const dying = await primary(fault)
      await starve(dying)
      return async () => {
        await dying.kill()
        await replace(group, dying)
      }
    },
    async flush(_fault, { forgot }) {
      await flushAll(await group.primaries(), forgot)
      return () => undefined
    },
  }
}

function among(those: () => Promise<readonly RedisServer[]>): Which {
  return async ({ server }) => {
    const all = await those()
    return all[server % all.length] as RedisServer
  }
}

async function replace(group: Group, dead: RedisServer): Promise<void> {
  await group.untilReplaced(dead)
  await dead.start()
  await group.untilWhole()
}

/**
 * From here on the replicas of this server get nothing, silently. Its clients notice nothing.
 */
async function starve(primary: RedisServer): Promise<void> {
  await expectOk(primary, 'ACL', 'SETUSER', 'default', '-psync', '-sync')
  await primary.command('CLIENT', 'KILL', 'TYPE', 'replica')
}
