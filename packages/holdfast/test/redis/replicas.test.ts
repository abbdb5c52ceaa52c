/** `minReplicas`: a lease counts only when replicas have it. */
import { createLocks } from 'holdfast'
import { redisStore, type RedisStoreOptions } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import type { Redis } from 'ioredis6'
import { describe, expect, test } from 'vitest'
import { openSentinelClient } from '@holdfast/servers/redis-clients'
import type { RedisServer } from '@holdfast/servers/redis'
import { eventually } from '@holdfast/servers/eventually'
import {
  after,
  closing,
  connectTo,
  LIBRARIES,
  makeClaim,
  openStore,
  openStoreOn,
  QUEUE,
  startServer,
  startTestCluster,
  startTestSentinels,
  take,
  type Library,
} from './support/world.js'

const OPTIONS = { minReplicas: 1, replicaTimeoutMs: 1000 }

async function startPair(): Promise<{ primary: RedisServer; replica: RedisServer }> {
  const primary = await startServer({ config: [['repl-diskless-sync-delay', '0']] })
  const replica = await startServer({ config: [['replicaof', `127.0.0.1 ${primary.port}`]] })
  await eventually('the replica follows', async () => {
    const info = await primary.command('INFO', 'replication')
    const [, acknowledged] = /state=online,offset=(\d+)/.exec(info) ?? []
    const [, written] = /master_repl_offset:(\d+)/.exec(info) ?? []
    // What was written before the replica came is not counted, and a replica that has acknowledged
    // nothing may still load.
    if (written === '0') await primary.command('SET', 'something', 'to follow')
    return written !== '0' && acknowledged === written
  })
  return { primary, replica }
}

/** Stops a replica in its tracks until the test is over, or the returned function is called. */
function stop(replica: Pick<RedisServer, 'pause' | 'resume'>): () => void {
  replica.pause()
  const resume = (): void => replica.resume()
  after(resume)
  return resume
}

/** A lock is taken, handed on and released; and none is while the replica stands still. */
async function tryOut(store: Store, replica: Pick<RedisServer, 'pause' | 'resume'>): Promise<void> {
  const [first, second] = [makeClaim('lock'), makeClaim('lock')]
  const { token } = await take(store, first)
  expect((await store.attempt(second, QUEUE)).outcome).toBe('waiting')
  let grants = 0
  let hints = 0
  const watch = store.watch(second, (grant) => (grant ? (grants += 1) : (hints += 1)))
  await watch.ready
  expect(await store.withdraw(first)).toBe('released')
  await eventually('the hint', () => hints > 0)
  watch.close()
  expect(grants).toBe(0)
  const handed = await store.attempt(second, QUEUE)
  expect(handed.outcome === 'granted' && handed.token !== undefined && handed.token > token).toBe(
    true,
  )

  const resume = stop(replica)
  const third = makeClaim('another')
  // Together, so that they share a WAIT.
  const attempt = Promise.resolve(store.attempt(third, QUEUE)).catch((caught: unknown) => caught)
  const [[renewed], error] = await Promise.all([store.renew([second]), attempt])
  expect(error).toMatchObject({
    name: 'StoreUnavailableError',
    code: 'NOT_REPLICATED',
    lock: 'another',
  })
  expect(String(error)).toMatch(/only 0 of the 1 replicas/)
  expect(renewed).toMatchObject({ outcome: 'unknown', cause: { code: 'NOT_REPLICATED' } })
  resume()
  expect(await store.withdraw(third)).toBe('released')
  await eventually(
    'it counts again',
    async () => (await store.renew([second]))[0]?.outcome === 'renewed',
  )
  expect(await store.withdraw(second)).toBe('released')
}

for (const library of LIBRARIES) {
  test(`through ${library}: leases count when the replica has them, and not before`, async () => {
    const { primary, replica } = await startPair()
    await tryOut(openStore(primary, library, OPTIONS), replica)
  })
}

for (const library of ['ioredis6', 'redis6'] satisfies Library[]) {
  test(`through ${library}: and so with Sentinels`, async () => {
    const group = await startTestSentinels()
    await tryOut(await openStoreOn(group, library, OPTIONS), await group.replica())
  })
}

for (const library of LIBRARIES) {
  test(`through ${library}: the connection for WAIT is made again when it has ended unused`, async () => {
    const { primary } = await startPair()
    const store = openStore(primary, library, OPTIONS)
    for (const settled of [false, true]) {
      await take(store, makeClaim(`warm ${settled}`))
      const [, id = ''] =
        /(?:^|\n)(?:\$\d+\r\n)?id=(\d+) .* cmd=wait /.exec(
          await primary.command('CLIENT', 'LIST'),
        ) ?? []
      expect(await primary.command('CLIENT', 'KILL', 'ID', id)).toBe(':1\r\n')
      // The client may have heard of the end, or not yet.
      if (settled) await new Promise((resolve) => setImmediate(resolve))
      const claim = makeClaim(`lock ${settled}`)
      const { token } = await take(store, claim)
      const [info] = await store.inspect([claim.lock])
      expect(info?.holders).toMatchObject([{ claimId: claim.id, token }])
      expect(await store.withdraw(claim)).toBe('released')
    }
  })
}

for (const library of ['ioredis5', 'ioredis6'] satisfies Library[]) {
  test(`through ${library}: and so in a database that the client has selected`, async () => {
    const { primary, replica } = await startPair()
    const client = connectTo(primary.url, library) as Redis
    await client.select(3)
    await tryOut(closing(redisStore({ client, ...OPTIONS })), replica)
  })
}

test('and so with Sentinels when the client has several connections to the primary', async () => {
  const group = await startTestSentinels()
  const sentinels = { name: group.name, ports: group.sentinelPorts }
  const { client, ready, end } = openSentinelClient('redis6', sentinels, { masterPoolSize: 3 })
  after(() => end())
  await ready
  await tryOut(closing(redisStore({ client, ...OPTIONS })), await group.replica())
})

test('and so in a Cluster', async () => {
  const cluster = await startTestCluster()
  // The replicas of all members stand still, so that it does not matter where the locks are.
  const roles = await Promise.all(cluster.members.map(({ server }) => server.command('ROLE')))
  const replicas = cluster.members.filter((_, index) => roles[index]?.includes('slave') === true)
  const all = {
    pause: () => replicas.forEach(({ server }) => server.pause()),
    resume: () => replicas.forEach(({ server }) => server.resume()),
  }
  for (const library of ['ioredis6', 'redis6'] satisfies Library[]) {
    await tryOut(await openStoreOn(cluster, library, OPTIONS), all)
  }
})

describe('with the runtime', () => {
  test('a lock that no replica has is not held, and its claim is gone', async () => {
    const { primary, replica } = await startPair()
    const locks = createLocks(openStore(primary, 'ioredis6', OPTIONS))
    const resume = stop(replica)
    await expect(locks.mutex('lock').acquire()).rejects.toMatchObject({ code: 'NOT_REPLICATED' })
    await eventually(
      'it is free',
      async () => (await locks.inspect({ prefix: '' })).locks.length === 0,
    )
    resume()
    await eventually('it can be had', () =>
      locks
        .mutex('lock')
        .tryAcquire()
        .then(Boolean, () => false),
    )
    await locks.close()
  })

  test('a lease whose renewals no replica has is lost by its deadline', async () => {
    const { primary, replica } = await startPair()
    const locks = createLocks(openStore(primary, 'redis6', OPTIONS), { ttlMs: 2000 })
    const lease = await locks.mutex('lock').acquire()
    await new Promise((resolve) => setTimeout(resolve, 2200))
    expect(lease.held).toBe(true)
    stop(replica)
    await eventually('the loss', () => lease.signal.aborted, { withinMs: 3000 })
    expect(lease.held).toBe(false)
    await locks.close()
  })

  test('many leases share one WAIT', async () => {
    const { primary } = await startPair()
    const store = openStore(primary, 'ioredis6', OPTIONS)
    await take(store, makeClaim('warm'))
    await primary.command('CONFIG', 'RESETSTAT')
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => take(store, makeClaim(`lock ${index}`))),
    )
    const stats = await primary.command('INFO', 'commandstats')
    expect(Number(/cmdstat_wait:calls=(\d+)/.exec(stats)?.[1])).toBeLessThan(5)
  })
})

test('numbers that make no sense are refused', () => {
  const client = connectTo('redis://127.0.0.1:1')
  for (const minReplicas of [-1, 1.5, NaN, Infinity, 101, '1']) {
    const options = { client, minReplicas } as RedisStoreOptions
    expect(() => redisStore(options), String(minReplicas)).toThrow(/minReplicas/)
  }
  for (const replicaTimeoutMs of [0, -1, 0.5, NaN, Infinity]) {
    expect(() => redisStore({ client, minReplicas: 1, replicaTimeoutMs })).toThrow(
      /replicaTimeoutMs/,
    )
  }
})

test('a time for replicas that does not fit into the time of a call is refused', () => {
  const client = connectTo('redis://127.0.0.1:1')
  const open = (options: Omit<RedisStoreOptions, 'client'>) => () =>
    closing(redisStore({ client, ...options }))
  for (const options of [
    { requestTimeoutMs: 500 },
    { requestTimeoutMs: 1000 },
    { replicaTimeoutMs: 5000 },
  ]) {
    expect(open({ minReplicas: 1, ...options })).toThrow(
      /replicaTimeoutMs .* must be less than requestTimeoutMs/,
    )
    // No call waits for replicas that are not asked for.
    expect(open(options)).not.toThrow()
  }
  expect(open({ minReplicas: 1, requestTimeoutMs: 1001 })).not.toThrow()
})
