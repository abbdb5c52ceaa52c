/**
 * The primary is killed under load, or loses what it had granted, with Sentinels and in a Cluster.
 */
import { createLocks } from 'holdfast'
import type { Claim, Store } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import type { RedisServer } from '@holdfast/servers/redis'
import { eventually } from '@holdfast/servers/eventually'
import { loadWhile, repeated, type Toll } from './support/load.js'
import {
  after,
  makeClaim,
  openStoreOn,
  QUEUE,
  startTestCluster,
  startTestSentinels,
  take,
  TRY,
  type Library,
} from './support/world.js'

const LOCKS = ['a', 'b', 'c', 'd', 'e', 'f']
const LOAD = { locks: LOCKS, workers: 3, ttlMs: 1500 }
/** Failover takes seconds, on a busy machine more. */
const LIMIT_MS = 120_000

function expectGood({ tokens, strange }: Toll): void {
  expect(strange).toEqual([])
  for (const [lock, given] of tokens)
    expect(repeated(given), `tokens of ${lock} that were given twice`).toEqual([])
}

for (const library of ['ioredis6', 'redis6'] satisfies Library[]) {
  describe(`through ${library}`, () => {
    test(
      'a primary with Sentinels is killed under load: every waiter is served or rejects, and no token is given twice',
      async () => {
        const group = await startTestSentinels()
        const stores = await Promise.all([openStoreOn(group, library), openStoreOn(group, library)])
        const toll = await loadWhile(stores, LOAD, async () => {
          const primary = await group.primary()
          await primary.kill()
          await group.untilReplaced(primary)
        })
        expectGood(toll)
      },
      LIMIT_MS,
    )

    test(
      'a primary of a Cluster is killed under load: every waiter is served or rejects, and no token is given twice',
      async () => {
        const cluster = await startTestCluster({ partial: false })
        const stores = await Promise.all([
          openStoreOn(cluster, library),
          openStoreOn(cluster, library),
        ])
        const toll = await loadWhile(stores, LOAD, async () => {
          const dead = await cluster.ownerOf('hf:{a}')
          await dead.server.kill()
          await cluster.untilReplaced(dead)
        })
        expectGood(toll)
      },
      LIMIT_MS,
    )

    test(
      'a primary of a Cluster that hangs is replaced, and its waiters are served by the new one',
      async () => {
        const cluster = await startTestCluster()
        // So that only the suspicion against a silent member can help in time.
        const options = { requestTimeoutMs: 60_000 }
        const [one, two] = await Promise.all([
          openStoreOn(cluster, library, options),
          openStoreOn(cluster, library, options),
        ])
        const [holder, waiter] = [
          createLocks(one, { ttlMs: 2000 }),
          createLocks(two, { ttlMs: 60_000 }),
        ]
        const lease = await holder.mutex('a').acquire()
        const waiting = waiter.mutex('a').acquire({ waitMs: 25_000 })
        await eventually(
          'it waits',
          async () => (await one.inspect(['a']))[0]?.waiters.length === 1,
        )
        const owner = await cluster.ownerOf('hf:{a}')
        // What the replica has not got is lost: the waiter itself does not depend on it, the token
        // does.
        await owner.server.command('WAIT', '1', '5000')
        owner.server.pause()
        after(() => owner.server.resume())
        const next = await waiting
        expect(next.token).toBeGreaterThan(lease.token)
        expect(await next.release()).toBe('released')
        await Promise.all([holder.close(), waiter.close()])
      },
      LIMIT_MS,
    )
  })
}

/**
 * Makes a replica follow a server that is not there, so that it gets nothing more of what its
 * primary writes.
 */
async function cutOff(primary: RedisServer, replica: RedisServer): Promise<void> {
  await replica.command('REPLICAOF', '127.0.0.1', '1')
  await eventually('the primary notices', async () =>
    (await primary.command('INFO', 'replication')).includes('connected_slaves:0'),
  )
}

/**
 * A lock whose grant was lost is granted again, with a larger token, and the first holder finds out
 * when it asks.
 */
async function expectDoubleHold(store: Store, first: Claim, token: bigint): Promise<void> {
  const [second, waiter] = [makeClaim('lock'), makeClaim('lock')]
  await eventually(
    'there is a primary',
    () =>
      Promise.resolve(store.attempt(second, TRY)).then(
        ({ outcome }) => outcome === 'granted',
        () => false,
      ),
    { withinMs: 60_000 },
  )
  const again = await store.attempt(second, TRY)
  if (again.outcome !== 'granted' || again.token === undefined) throw new Error('not granted')
  expect(again.token).toBeGreaterThan(token)
  expect(await store.renew([first])).toEqual([{ outcome: 'lost', reason: 'expired' }])
  expect(await store.withdraw(first)).toBe('absent')
  expect((await store.attempt(waiter, QUEUE)).outcome).toBe('waiting')
  expect(await store.withdraw(second)).toBe('released')
}

describe('a failover that loses a grant makes two holders, whom only the token distinguishes', () => {
  test(
    'with Sentinels',
    async () => {
      const group = await startTestSentinels()
      const store = await openStoreOn(group, 'ioredis6')
      const [primary, replica] = [await group.primary(), await group.replica()]
      await take(store, makeClaim('other'))
      await cutOff(primary, replica)
      const first = makeClaim('lock')
      const { token } = await take(store, first)
      await primary.kill()
      await replica.command('REPLICAOF', 'NO', 'ONE')
      await expectDoubleHold(store, first, token)
    },
    LIMIT_MS,
  )

  test(
    'in a Cluster',
    async () => {
      const cluster = await startTestCluster({ appendOnly: true })
      const store = await openStoreOn(cluster, 'redis6')
      const owner = await cluster.ownerOf('hf:{lock}')
      const replica = cluster.members.find(
        ({ id, shard }) => shard === owner.shard && id !== owner.id,
      )
      // It is not there when the grant is made, and knows only what was before.
      await replica?.server.kill()
      const first = makeClaim('lock')
      const { token } = await take(store, first)
      await owner.server.kill()
      await replica?.server.start()
      await replica?.server.command('CLUSTER', 'FAILOVER', 'TAKEOVER')
      await expectDoubleHold(store, first, token)
    },
    LIMIT_MS,
  )
})
