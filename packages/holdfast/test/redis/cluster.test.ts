/** What only a Cluster has: members, a rule of the ACL for them, clients that do not fit. */
import { inspectPage } from 'holdfast/internal'
import { randomUUID } from 'node:crypto'
import { Gate } from 'holdfast/testing'
import { aclRule } from '../../dist/stores/redis/rule/acl.js'
import { diagnose } from '../../dist/stores/redis/diagnose.js'
import { redisStore, type IoRedisCluster, type RedisClient } from 'holdfast/redis'
import { describe, expect, test } from 'vitest'
import { slotOf } from '../../dist/stores/redis/connection/cluster/slots.js'
import { openAny, openClusterClient } from '@holdfast/servers/redis-clients'
import { freePorts } from '@holdfast/servers/ports'
import { type Member } from '@holdfast/servers/redis-cluster'
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
  take,
  TRY,
  whereIs,
} from './support/world.js'
import {
  heldBack,
  oneOfEach,
  pick,
  sharedCluster,
  subscriptions,
  takeClaim,
} from './support/cluster.js'

test('slots are those of the server, with any name', async () => {
  const server = await startServer({ config: [['cluster-enabled', 'yes']] })
  const names = [
    '',
    'a',
    '{}',
    '{a}',
    'a{b}c',
    'a{}b',
    '{a',
    'a}b{c}',
    '}{',
    'ä{ö}ü',
    '\u{1F512}',
    randomUUID(),
  ]
  for (const name of [...names, ...names.map((text) => `hf:{${text}}:q`)]) {
    expect(slotOf(name), name).toBe(
      Number((await server.command('CLUSTER', 'KEYSLOT', name)).slice(1)),
    )
  }
})

for (const library of LIBRARIES) {
  test(`through ${library}: hands a lock on by a message, and closes what is its own and nothing else`, async () => {
    const cluster = await sharedCluster()
    const opened = openAny(library, whereIs(cluster))
    after(() => opened.end())
    await opened.ready
    const [one, two] = [await openStoreOn(cluster, library), redisStore({ client: opened.client })]
    for (const lock of await oneOfEach(cluster, library)) {
      const [holder, waiter] = [makeClaim(lock), makeClaim(lock, { heartbeatMs: 60_000 })]
      const { token } = await take(one, holder)
      await two.attempt(waiter, QUEUE)
      let pushed: bigint | undefined
      const watch = two.watch(waiter, (grant) => (pushed = grant?.token))
      await watch.ready
      expect(await one.withdraw(holder)).toBe('released')
      await eventually('the grant', () => pushed !== undefined)
      expect(pushed).toBeGreaterThan(token)
      watch.close()
    }
    expect((await inspectPage(two, { prefix: library, limit: 10 })).locks).toHaveLength(3)
    expect(await subscriptions(cluster)).not.toEqual([])
    await two.close()
    await eventually(
      'its channels are gone',
      async () => (await subscriptions(cluster)).length === 0,
    )
    // The caller's client works on.
    await take(closing(redisStore({ client: opened.client })), makeClaim(`another ${library}`))
    await expect(two.attempt(makeClaim('lock'), TRY)).rejects.toMatchObject({
      code: 'LOCKS_CLOSED',
    })
  })
}

test('waiter without channel access rejects with STORE_AUTH, and is woken once it has access', async () => {
  const cluster = await sharedCluster()
  const setUser = (...rules: string[]): Promise<unknown> =>
    Promise.all(
      cluster.members.map(({ server }) =>
        server.command('ACL', 'SETUSER', 'no-channels', 'on', '>secret', ...rules),
      ),
    )
  await setUser('~*', 'resetchannels', '+@all')
  const user = { username: 'no-channels', password: 'secret' }
  const opened = openClusterClient('ioredis5', cluster.ports, { redisOptions: user })
  after(() => opened.end())
  await opened.ready
  const store = closing(redisStore({ client: opened.client }))
  await take(store, makeClaim('unheard'))
  const waiter = makeClaim('unheard', { heartbeatMs: 60_000 })
  expect(await store.attempt(waiter, QUEUE)).toMatchObject({ outcome: 'waiting' })
  let woken = false
  const watch = store.watch(waiter, () => (woken = true))
  await expect(watch.ready).rejects.toMatchObject({ code: 'STORE_AUTH', lock: 'unheard' })
  await setUser('&*')
  await eventually('what was missed is looked for', () => woken)
  watch.close()
  // Another test looks there for what it was refused.
  await Promise.all(cluster.members.map(({ server }) => server.command('ACL', 'LOG', 'RESET')))
})

test('the rule of the ACL suffices for a Cluster, through each library', async () => {
  const cluster = await sharedCluster()
  const [first] = cluster.members
  const [, version = ''] =
    /redis_version:(\S+)/.exec((await first?.server.command('INFO', 'server')) ?? '') ?? []
  const acl = aclRule({ version, cluster: true }).split(' ')
  for (const { server } of cluster.members) {
    expect(await server.command('ACL', 'SETUSER', 'locker', 'on', '>pass', ...acl)).toBe('+OK\r\n')
  }
  const user = { username: 'locker', password: 'pass' }
  for (const library of LIBRARIES) {
    const options = library.startsWith('ioredis') ? { redisOptions: user } : { defaults: user }
    const opened = openClusterClient(library, cluster.ports, options)
    after(() => opened.end())
    await opened.ready
    const store = closing(redisStore({ client: opened.client }))
    for (const lock of await oneOfEach(cluster, `acl ${library}`)) {
      const [holder, waiter] = [makeClaim(lock), makeClaim(lock, { heartbeatMs: 60_000 })]
      await take(store, holder)
      await store.attempt(waiter, QUEUE)
      let woken = false
      const watch = store.watch(waiter, () => (woken = true))
      await watch.ready
      await store.withdraw(holder)
      await eventually(`it is woken through ${library}`, () => woken)
      watch.close()
      expect(await store.renew([waiter])).toEqual([{ outcome: 'renewed' }])
      expect(await store.withdraw(waiter)).toBe('released')
    }
    expect((await inspectPage(store, { prefix: 'acl', limit: 9 })).locks).toEqual([])
  }
  for (const { server } of cluster.members) {
    const log = await server.command('ACL', 'LOG')
    expect(log, log).toBe('*0\r\n')
  }
})

test('the diagnosis of each member takes no lock for a key of another program', async () => {
  const cluster = await sharedCluster()
  const store = await openStoreOn(cluster, 'ioredis6')
  for (const lock of await oneOfEach(cluster, 'looked at')) await take(store, makeClaim(lock))
  const counts = cluster.members.map(
    ({ server }) =>
      async () =>
        server.command('DBSIZE'),
  )
  for (const count of counts)
    await eventually('the replicas have them', async () => (await count()) !== ':0\r\n')
  for (const { server } of cluster.members) {
    const client = connectTo(server.url)
    expect((await diagnose({ client })).foreignKeys).toEqual([])
  }
})

test('a store that is closed while it looks for the members sends nothing afterwards, and opens nothing', async () => {
  const cluster = await sharedCluster()
  const opened = openClusterClient('ioredis6', cluster.ports)
  after(() => opened.end())
  await opened.ready
  const gate = new Gate()
  const late = heldBack(opened.client as unknown as IoRedisCluster, gate)
  const store = redisStore({ client: late.client })
  const claim = makeClaim('closed early')
  const attempt = Promise.resolve(store.attempt(claim, QUEUE))
  const listing = Promise.resolve(inspectPage(store, { prefix: '', limit: 1 }))
  const watch = store.watch(claim, () => undefined)
  const outcomes = Promise.allSettled([attempt, listing])
  await store.close()
  gate.open()
  const closed = { status: 'rejected', reason: { code: 'LOCKS_CLOSED' } }
  expect(await outcomes).toMatchObject([closed, closed])
  await watch.ready
  const other = await openStoreOn(cluster, 'redis6')
  // Long enough for a connection and a script.
  for (const lock of await oneOfEach(cluster, 'meanwhile')) await takeClaim(other, lock)
  expect(late.opened()).toBe(0)
  expect(await other.inspect([claim.lock])).toEqual([])
})

describe('clients that do not fit', () => {
  test('a client of one server says that it is a member of a Cluster', async () => {
    const cluster = await sharedCluster()
    const [member] = cluster.members as [Member]
    const foreign = (await oneOfEach(cluster, 'foreign'))[1] ?? ''
    const { server } =
      (await cluster.ownerOf(`hf:{${foreign}}`)) === member
        ? (cluster.members[2] as Member)
        : member
    const attempt = Promise.resolve(openStore(server).attempt(makeClaim(foreign), TRY))
    await expect(attempt).rejects.toMatchObject({ code: 'STORE_CONFIG' })
    await expect(
      Promise.resolve(openStore(server).attempt(makeClaim(foreign), TRY)),
    ).rejects.toThrow(/client of the Cluster/)
  })

  test('a Cluster client of a server without a Cluster is reported, and so is a wrong password', async () => {
    const server = await startServer({ password: 'right-secret' })
    for (const library of LIBRARIES) {
      const wrong = library.startsWith('ioredis')
        ? { redisOptions: { password: 'wrong-secret' } }
        : { defaults: { password: 'wrong-secret' } }
      const { client, end } = openClusterClient(library, [server.port], wrong)
      after(() => end())
      const store = closing(redisStore({ client, requestTimeoutMs: 2000 }))
      const error = await Promise.resolve(store.attempt(makeClaim('lock'), TRY)).catch(
        (caught: unknown) => caught,
      )
      expect(error, library).toMatchObject({ name: 'StoreUnavailableError' })
      expect(String(error)).not.toMatch(/secret/)
    }
  })

  test.each(['ioredis5', 'ioredis6'] as const)(
    'a client of %s that reaches no member is left with one command and no listeners, however often it is used',
    async (library) => {
      const [port = 0] = await freePorts(1)
      const { client, end } = openClusterClient(library, [port])
      after(() => end())
      const { offlineQueue, listenerCount } = pick(client)
      const before = [listenerCount('error'), listenerCount('end')]
      const stores = [redisStore({ client }), redisStore({ client })]
      for (let times = 0; times < 4; times += 1) {
        const attempts = stores.map((store) =>
          Promise.resolve(store.attempt(makeClaim('lock'), TRY)),
        )
        for (const { status } of await Promise.allSettled(attempts)) expect(status).toBe('rejected')
        expect([listenerCount('error'), listenerCount('end')]).toEqual(before)
      }
      expect(offlineQueue().length).toBe(1)
      for (const store of stores) await store.close()
    },
  )

  test('clients of all libraries fit the type', () => {
    const clients: RedisClient[] = LIBRARIES.flatMap((library) => {
      const both = [openAny(library, 'sentinel:name:1'), openAny(library, 'cluster:1')]
      for (const { end } of both) after(() => end())
      return both.map(({ client }) => client)
    })
    for (const client of clients) expect(redisStore({ client }).name).toBe('redis')
  })
})
