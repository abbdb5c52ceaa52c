/** Slots of a Cluster that move, or have no owner. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { loadWhile, repeated } from './support/load.js'
import {
  LIBRARIES,
  makeClaim,
  openStoreOn,
  QUEUE,
  startTestCluster,
  take,
  TRY,
} from './support/world.js'
import {
  disown,
  elsewhere,
  oneOfEach,
  sharedCluster,
  takeClaim,
  waitersOf,
} from './support/cluster.js'

describe('a slot that moves', () => {
  test('keeps its held and awaited locks at every stage of the move', async () => {
    const cluster = await sharedCluster()
    const [one, two] = await Promise.all([
      openStoreOn(cluster, 'ioredis6'),
      openStoreOn(cluster, 'redis6'),
    ])
    const [holder, waiter] = [
      makeClaim('lock', { ttlMs: 60_000 }),
      makeClaim('lock', { heartbeatMs: 20_000 }),
    ]
    const { token } = await take(one, holder)
    await two.attempt(waiter, QUEUE)
    const { slot, from, to } = await elsewhere(cluster, 'hf:{lock}')

    await cluster.beginMove(slot, from, to)
    // Some keys here and some there: nothing is decided on half of a lock's state. The members ask
    // to come back.
    expect(await cluster.moveKeys(slot, from, to, 1)).toBe(1)
    const renewing = one.renew([holder])
    const asking = two.attempt(waiter, QUEUE)
    await sleep(300)
    while ((await cluster.moveKeys(slot, from, to)) > 0);
    await cluster.endMove(slot, from, to)
    expect(await renewing).toEqual([{ outcome: 'renewed' }])
    expect((await asking).outcome).toBe('waiting')
    expect(await cluster.ownerOf('hf:{lock}')).toBe(to)

    expect(await one.withdraw(holder)).toBe('released')
    const next = await two.attempt(waiter, QUEUE)
    if (next.outcome !== 'granted' || next.token === undefined) throw new Error(next.outcome)
    expect(next.token).toBeGreaterThan(token)
    expect(await two.withdraw(waiter)).toBe('released')
    expect(await two.withdraw(waiter)).toBe('released')
  })

  test('ends its subscriptions: a waiter is woken by a message of the new owner', async () => {
    const cluster = await sharedCluster()
    for (const library of LIBRARIES) {
      const lock = `lock ${library}`
      const [one, two] = await Promise.all([
        openStoreOn(cluster, library),
        openStoreOn(cluster, library),
      ])
      const [holder, waiter] = [makeClaim(lock), makeClaim(lock, { heartbeatMs: 60_000 })]
      await take(one, holder)
      await two.attempt(waiter, QUEUE)
      let grants = 0
      const watch = two.watch(waiter, (grant) => (grants += grant ? 1 : 0))
      await watch.ready
      const { slot, from, to } = await elsewhere(cluster, `hf:{${lock}}`)
      await cluster.moveSlot(slot, from, to)
      await eventually(`it listens there, through ${library}`, async () =>
        (await to.server.command('PUBSUB', 'SHARDCHANNELS')).includes(`hf:{${lock}}:`),
      )
      await one.withdraw(holder)
      await eventually(`the grant through ${library}`, () => grants > 0)
      watch.close()
    }
  })

  test('back and forth under load loses no waiter, and no token is given twice', async () => {
    const cluster = await sharedCluster()
    const stores = await Promise.all([
      openStoreOn(cluster, 'ioredis6'),
      openStoreOn(cluster, 'redis6'),
    ])
    const { slot, from, to } = await elsewhere(cluster, 'hf:{hot}')
    const load = { locks: ['hot', 'other'], workers: 4, ttlMs: 3000 }
    const toll = await loadWhile(stores, load, async () => {
      for (let round = 0; round < 6; round += 1) {
        await cluster.beginMove(slot, round % 2 ? to : from, round % 2 ? from : to)
        // Writers make new keys meanwhile.
        while ((await cluster.moveKeys(slot, round % 2 ? to : from, round % 2 ? from : to, 1)) > 0);
        await cluster.endMove(slot, round % 2 ? to : from, round % 2 ? from : to)
        await sleep(100)
      }
    })
    expect(toll.strange).toEqual([])
    expect({ failed: toll.failed, lost: toll.lost }).toEqual({ failed: 0, lost: 0 })
    for (const [lock, tokens] of toll.tokens) expect(repeated(tokens), lock).toEqual([])
  })
})

describe('a slot without an owner', () => {
  test('is asked for until it has one, and waiters listen there then', async () => {
    const cluster = await startTestCluster()
    const owner = await cluster.ownerOf('hf:{lock}')
    const slot = await cluster.slotOf('hf:{lock}')
    await disown(cluster, slot, owner)
    const elsewhere = (await oneOfEach(cluster, 'of'))[0] ?? ''
    for (const library of ['ioredis6', 'redis6'] as const) {
      const [store, hasty] = [
        await openStoreOn(cluster, library),
        await openStoreOn(cluster, library, { requestTimeoutMs: 300 }),
      ]
      // The rest of the map is known from now on.
      for (const each of [store, hasty]) await each.withdraw(await takeClaim(each, elsewhere))
      const refused = Promise.resolve(hasty.attempt(makeClaim('lock'), TRY))
      await expect(refused).rejects.toThrow(/CLUSTERDOWN .* no primary for this lock/)
      const claim = makeClaim('lock')
      const watch = store.watch(claim, () => undefined)
      const taking = take(store, claim)
      expect(await owner.server.command('CLUSTER', 'ADDSLOTS', String(slot))).toBe('+OK\r\n')
      await taking
      await eventually('it listens', async () =>
        (await owner.server.command('PUBSUB', 'SHARDCHANNELS')).includes('hf:{lock}:'),
      )
      watch.close()
      await store.withdraw(claim)
      // The one that was refused finds it, too.
      await eventually('it is found', () =>
        Promise.resolve(hasty.attempt(makeClaim('lock', { ttlMs: 100 }), TRY)).then(
          ({ outcome }) => outcome === 'granted',
          () => false,
        ),
      )
      await disown(cluster, slot, owner)
    }
  })
})

test('a waiter that hears nothing of a moved slot is served by its heartbeats', async () => {
  const cluster = await sharedCluster()
  const [one, two] = await Promise.all([
    openStoreOn(cluster, 'redis6'),
    openStoreOn(cluster, 'ioredis6'),
  ])
  const [holder, waiter] = [createLocks(one), createLocks(two)]
  const lease = await holder.mutex('lock').acquire()
  const waiting = waiter.mutex('lock').acquire()
  await eventually('it waits', async () => (await waitersOf(one, 'lock')) === 1)
  const { slot, from, to } = await elsewhere(cluster, 'hf:{lock}')
  await cluster.moveSlot(slot, from, to)
  // At once, so that the channel has not followed yet.
  const releasedMs = performance.now()
  expect(await lease.release()).toBe('released')
  expect((await waiting).held).toBe(true)
  expect(performance.now() - releasedMs).toBeLessThan(3500)
  await Promise.all([holder.close(), waiter.close()])
})
