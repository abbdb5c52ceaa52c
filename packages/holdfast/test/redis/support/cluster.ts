/** A Cluster that the tests of a file share, and what they ask of it. */
import { type Gate } from 'holdfast/testing'
import { type IoRedisCluster, type RedisClient } from 'holdfast/redis'
import type { Claim, Store } from 'holdfast/store'
import { afterAll } from 'vitest'
import { startCluster, type Member, type RedisCluster } from '@holdfast/servers/redis-cluster'
import { eventually } from '@holdfast/servers/eventually'
import { makeClaim, take } from './world.js'

let shared: Promise<RedisCluster> | undefined

/**
 * For all tests that kill no member: a Cluster needs two seconds until it takes writes. Each test
 * has locks of its own.
 */
export function sharedCluster(): Promise<RedisCluster> {
  shared ??= startCluster()
  return shared
}

afterAll(async () => {
  await (await shared)?.stop()
})

/** The owner of a key, and another member to which its slot may go. */
export async function elsewhere(
  cluster: RedisCluster,
  key: string,
): Promise<{ slot: number; from: Member; to: Member }> {
  const from = await cluster.ownerOf(key)
  const to = cluster.members.find(({ shard }) => shard !== from.shard)
  if (!to) throw new Error('There is no other member.')
  return { slot: await cluster.slotOf(key), from, to }
}

/** Names of locks, one for each primary. */
export async function oneOfEach(cluster: RedisCluster, beginning: string): Promise<string[]> {
  const names = new Map<Member, string>()
  for (let index = 0; names.size < 3; index += 1) {
    names.set(await cluster.ownerOf(`hf:{${beginning} ${index}}`), `${beginning} ${index}`)
  }
  return [...names.values()]
}

export async function takeClaim(store: Store, lock: string): Promise<Claim> {
  const claim = makeClaim(lock)
  await take(store, claim)
  return claim
}

export async function waitersOf(store: Store, lock: string): Promise<number> {
  return (await store.inspect([lock]))[0]?.waiters.length ?? 0
}

export async function subscriptions(cluster: RedisCluster): Promise<string[]> {
  const replies = await Promise.all(
    cluster.members.map(({ server }) => server.command('PUBSUB', 'SHARDCHANNELS')),
  )
  return replies.flatMap((reply) => reply.split('\r\n').filter((line) => line.startsWith('hf:')))
}

/** How many connections there are that stores have used. */
export async function ownConnections({ server }: Member): Promise<number> {
  const lines = (await server.command('CLIENT', 'LIST')).split('\n')
  return lines.filter((line) => /cmd=(ssubscribe|sunsubscribe|evalsha|eval) /.test(line)).length
}

/** Returns the commands and listeners that a client of ioredis keeps. */
export function pick(client: object): {
  offlineQueue: () => { length: number }
  listenerCount: (event: string) => number
} {
  const inside = client as {
    offlineQueue: { length: number }
    listenerCount(event: string): number
  }
  return {
    offlineQueue: () => inside.offlineQueue,
    listenerCount: (event) => inside.listenerCount(event),
  }
}

/** As while a Cluster is being made. */
export async function disown(cluster: RedisCluster, slot: number, owner: Member): Promise<void> {
  const [first, ...others] = [owner, ...cluster.members.filter((member) => member !== owner)]
  await first?.server.command('CLUSTER', 'DELSLOTS', String(slot))
  const isOwned = async ({ server }: Member): Promise<boolean> =>
    (await server.command('CLUSTER', 'DELSLOTS', String(slot))).startsWith('+')
  // A message that was in flight may return it to its holder.
  for (const member of others)
    await eventually('it is forgotten', async () => !(await isOwned(member)))
}

/**
 * A client that keeps what it is answered until the gate opens, and counts the connections that are
 * made like its own.
 */
export function heldBack(
  inner: IoRedisCluster,
  gate: Gate,
): { client: IoRedisCluster; opened: () => number } {
  let opened = 0
  const client: IoRedisCluster = {
    isCluster: true,
    get status() {
      return inner.status
    },
    options: inner.options,
    async call(command, ...args) {
      const reply = await inner.call(command, ...args)
      await gate.opened
      return reply
    },
    nodes(role) {
      opened += 1
      return inner.nodes(role)
    },
    on: (event, listener) => inner.on(event, listener),
    off: (event, listener) => inner.off(event, listener),
  }
  return { client, opened: () => opened }
}

export function firstPort(client: RedisClient): number {
  const [first] = (client as unknown as { readonly masters: readonly { readonly port: number }[] })
    .masters
  if (!first) throw new Error('The client knows of no members.')
  return first.port
}
