/** Members of a Cluster that fail alone, or leave. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { describe, expect, test, vi } from 'vitest'
import { openClusterClient } from '@holdfast/servers/redis-clients'
import { eventually } from '@holdfast/servers/eventually'
import type { NodeRedisCluster } from '../../dist/stores/redis/connection/clients.js'
import { nodeRedisClusterTransport } from '../../dist/stores/redis/connection/transports/node-redis/node-redis-cluster.js'
import {
  after,
  closing,
  makeClaim,
  openStoreOn,
  startTestCluster,
  take,
  TRY,
} from './support/world.js'
import {
  firstPort,
  oneOfEach,
  ownConnections,
  subscriptions,
  takeClaim,
} from './support/cluster.js'

describe('a command that any member may answer', () => {
  test.each(['answers', 'refuses'])('leaves no timer when a member %s', async (outcome) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    after(() => vi.useRealTimers())
    const member = {
      sendCommand: () =>
        outcome === 'answers' ? Promise.resolve('PONG') : Promise.reject(new Error('refused')),
    }
    const client = { isOpen: true, masters: [{}, {}], nodeClient: () => Promise.resolve(member) }
    const { command } = nodeRedisClusterTransport(client as unknown as NodeRedisCluster)
    const answer = command('PING').catch((error: Error) => error.message)
    expect(await answer).toBe(outcome === 'answers' ? 'PONG' : 'refused')
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a member that fails', () => {
  test('costs the locks of the others nothing', async () => {
    const cluster = await startTestCluster()
    const store = await openStoreOn(cluster, 'ioredis6', { requestTimeoutMs: 800 })
    const names = await oneOfEach(cluster, 'of')
    const claims = names.map((lock) => makeClaim(lock))
    for (const claim of claims) await take(store, claim)
    const [dead] = names as [string]
    const { server } = await cluster.ownerOf(`hf:{${dead}}`)
    server.pause()
    after(() => server.resume())
    const startMs = performance.now()
    const [lost, ...others] = claims.map(async (claim) => store.renew([claim]))
    expect(await Promise.all(others)).toEqual([[{ outcome: 'renewed' }], [{ outcome: 'renewed' }]])
    expect(performance.now() - startMs).toBeLessThan(700)
    for (const lock of names.slice(1))
      await store.withdraw(claims[names.indexOf(lock)] as (typeof claims)[0])
    expect(await lost).toMatchObject([{ outcome: 'unknown', cause: { code: 'STORE_UNAVAILABLE' } }])
    // All of them in one turn: each has an answer of its own.
    const all = await Promise.allSettled(names.map((lock) => take(store, makeClaim(lock))))
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  })

  test.each(['ioredis6', 'redis6'] as const)(
    'stopped primary costs no lease on the others, through %s',
    async (library) => {
      const cluster = await startTestCluster()
      const store = await openStoreOn(cluster, library)
      const locks = createLocks(store, { ttlMs: 3000 })
      const names = await oneOfEach(cluster, 'held')
      // Taken together, so that they are renewed together.
      const leases = await Promise.all(names.map((name) => locks.mutex(name).acquire()))
      const { server } = await cluster.ownerOf(`hf:{${names[0]}}`)
      server.pause()
      after(() => server.resume())
      await sleep(5000)
      expect(leases.slice(1).map(({ signal }) => signal.aborted)).toEqual([false, false])
      // It may have been renewed by the replica that took over; it is not believed without that.
      server.resume()
      for (const lease of leases.slice(1)) expect(await lease.release()).toBe('released')
    },
    40_000,
  )

  test('and a whole Cluster that is away is reported in time, and used again when it is back', async () => {
    const cluster = await startTestCluster({ appendOnly: true })
    const store = await openStoreOn(cluster, 'redis6', { requestTimeoutMs: 1000 })
    const claim = makeClaim('lock', { ttlMs: 60_000 })
    await take(store, claim)
    await Promise.all(cluster.members.map(({ server }) => server.kill()))
    const startMs = performance.now()
    await expect(store.attempt(makeClaim('lock'), TRY)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    expect(performance.now() - startMs).toBeLessThan(3000)
    await cluster.start()
    await eventually(
      'it answers',
      async () => (await store.renew([claim]))[0]?.outcome === 'renewed',
      {
        withinMs: 20_000,
      },
    )
  })
})

test('through redis6: the member that the client lists first may be dead before the store has begun', async () => {
  const cluster = await startTestCluster()
  // The one makes all its connections at once, the other none that it does not need.
  const eager = openClusterClient('redis6', cluster.ports)
  const lazy = openClusterClient('redis6', cluster.ports, { minimizeConnections: true })
  for (const { ready, end } of [eager, lazy]) {
    after(() => end())
    await ready
  }
  const port = firstPort(lazy.client)
  const dead = cluster.members.find(({ server }) => server.port === port)
  if (!dead) throw new Error('The first member is none of the Cluster.')
  const names = await oneOfEach(cluster, 'lock')
  const owners = await Promise.all(names.map((name) => cluster.ownerOf(`hf:{${name}}`)))
  await dead.server.kill()
  for (const { client } of [eager, lazy]) {
    // More of them than members, so that one of them is on the dead member.
    for (let stores = 0; stores < 4; stores += 1) {
      const store = closing(redisStore({ client, requestTimeoutMs: 5000 }))
      const living = names.filter((_, index) => owners[index] !== dead)
      for (const lock of living) await store.withdraw(await takeClaim(store, lock))
    }
  }
})

test('a member that owns no slots any more is left, and so is the connection that listened there', async () => {
  const cluster = await startTestCluster()
  const names = await oneOfEach(cluster, 'left')
  const libraries = ['ioredis6', 'redis6'] as const
  const worlds = await Promise.all(
    libraries.map(async (library, index) => {
      const lock = names[index] ?? ''
      const store = await openStoreOn(cluster, library)
      const claim = await takeClaim(store, lock)
      const watch = store.watch(claim, () => undefined)
      await watch.ready
      watch.close()
      const before = await cluster.ownerOf(`hf:{${lock}}`)
      // The script, and the messages.
      expect(await ownConnections(before), library).toBe(2)
      return { library, store, claim, before }
    }),
  )
  // The server itself ends a subscription whose slot moves; a connection without any it leaves as
  // it is.
  await eventually('no client listens', async () => (await subscriptions(cluster)).length === 0)
  for (const { library, store, claim, before } of worlds) {
    const next = await cluster.memberOf(before.shard, 'slave')
    expect(await next.server.command('CLUSTER', 'FAILOVER')).toBe('+OK\r\n')
    await cluster.untilReplaced(before)
    expect(await store.renew([claim])).toEqual([{ outcome: 'renewed' }])
    await eventually(
      `nothing is left at the one before, through ${library}`,
      async () => (await ownConnections(before)) === 0,
    )
  }
})
