/** What only a Cluster does: slots with owners, slots that move, members that fail alone. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { Gate } from '@holdfast/conformance'
import {
  aclRule,
  diagnose,
  redisStore,
  type IoRedisCluster,
  type RedisClient,
} from 'holdfast/redis'
import type { Claim, Store } from 'holdfast/store'
import { afterAll, describe, expect, test } from 'vitest'
import { slotOf } from '../../dist/stores/redis/cluster/slots.js'
import { openAny, openClusterClient } from '@holdfast/servers/redis-clients'
import { freePorts } from '@holdfast/servers/service'
import { startCluster, type Member, type RedisCluster } from '@holdfast/servers/redis-cluster'
import { eventually } from '@holdfast/servers/eventually'
import { loadWhile, repeated } from './support/load.js'
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
  take,
  TRY,
  whereIs,
} from './support/world.js'

let shared: Promise<RedisCluster> | undefined

/**
 * For all tests that kill nobody: a Cluster needs two seconds until it takes writes. Each has locks
 * of its own.
 */
function sharedCluster(): Promise<RedisCluster> {
  shared ??= startCluster()
  return shared
}

afterAll(async () => {
  await (await shared)?.stop()
})

/** The owner of a key, and another member to which its slot may go. */
async function elsewhere(
  cluster: RedisCluster,
  key: string,
): Promise<{ slot: number; from: Member; to: Member }> {
  const from = await cluster.ownerOf(key)
  const to = cluster.members.find(({ shard }) => shard !== from.shard)
  if (!to) throw new Error('There is no other member.')
  return { slot: await cluster.slotOf(key), from, to }
}

/** Names of locks, one for each primary. */
async function oneOfEach(cluster: RedisCluster, beginning: string): Promise<string[]> {
  const names = new Map<Member, string>()
  for (let index = 0; names.size < 3; index += 1) {
    names.set(await cluster.ownerOf(`hf:{${beginning} ${index}}`), `${beginning} ${index}`)
  }
  return [...names.values()]
}

async function takeClaim(store: Store, lock: string): Promise<Claim> {
  const claim = makeClaim(lock)
  await take(store, claim)
  return claim
}

async function waitersOf(store: Store, lock: string): Promise<number> {
  return (await store.inspect({ lock })).locks[0]?.waiters.length ?? 0
}

async function subscriptions(cluster: RedisCluster): Promise<string[]> {
  const replies = await Promise.all(
    cluster.members.map(({ server }) => server.command('PUBSUB', 'SHARDCHANNELS')),
  )
  return replies.flatMap((reply) => reply.split('\r\n').filter((line) => line.startsWith('hf:')))
}

/** How many connections there are that stores have used. */
async function ownConnections({ server }: Member): Promise<number> {
  const lines = (await server.command('CLIENT', 'LIST')).split('\n')
  return lines.filter((line) => /cmd=(ssubscribe|sunsubscribe|evalsha|eval) /.test(line)).length
}

/** What tells of the commands and listeners that a client of ioredis keeps. */
function pick(client: object): {
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
async function disown(cluster: RedisCluster, slot: number, owner: Member): Promise<void> {
  const [first, ...others] = [owner, ...cluster.members.filter((member) => member !== owner)]
  await first?.server.command('CLUSTER', 'DELSLOTS', String(slot))
  const isOwned = async ({ server }: Member): Promise<boolean> =>
    (await server.command('CLUSTER', 'DELSLOTS', String(slot))).startsWith('+')
  // A message that was on its way may give it back to whoever had it.
  for (const member of others)
    await eventually('it is forgotten', async () => !(await isOwned(member)))
}

test('slots are those of the server, whatever the name', async () => {
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
    expect((await two.inspect({ prefix: library, limit: 10 })).locks).toHaveLength(3)
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

test('members that let nobody listen say so to who waits, and are listened to when they do', async () => {
  const cluster = await sharedCluster()
  const setUser = (...rules: string[]): Promise<unknown> =>
    Promise.all(
      cluster.members.map(({ server }) =>
        server.command('ACL', 'SETUSER', 'deaf', 'on', '>secret', ...rules),
      ),
    )
  await setUser('~*', 'resetchannels', '+@all')
  const user = { username: 'deaf', password: 'secret' }
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
    expect((await store.inspect({ prefix: 'acl', limit: 9 })).locks).toEqual([])
  }
  for (const { server } of cluster.members) {
    const log = await server.command('ACL', 'LOG')
    expect(log, log).toBe('*0\r\n')
  }
})

test('the diagnosis of each member takes no lock for a key of somebody else', async () => {
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

  test('takes its subscriptions with it: whoever waits is woken by a message of the new owner', async () => {
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

  test('back and forth under load loses nobody, and no token is given twice', async () => {
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
    expect({ told: toll.told, lost: toll.lost }).toEqual({ told: 0, lost: 0 })
    for (const [lock, tokens] of toll.tokens) expect(repeated(tokens), lock).toEqual([])
  })
})

/**
 * A client that keeps what it is answered until the gate opens, and counts the connections that are
 * made like its own.
 */
function heldBack(
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
  const listing = Promise.resolve(store.inspect({ prefix: '', limit: 1 }))
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
  expect((await other.inspect({ lock: claim.lock })).locks).toEqual([])
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

  test('and a whole Cluster that is away is told in time, and used again when it is back', async () => {
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
    // More of them than members, so that whoever takes any one of these comes upon the dead one.
    for (let stores = 0; stores < 4; stores += 1) {
      const store = closing(redisStore({ client, requestTimeoutMs: 5000 }))
      const living = names.filter((_, index) => owners[index] !== dead)
      for (const lock of living) await store.withdraw(await takeClaim(store, lock))
    }
  }
})

function firstPort(client: RedisClient): number {
  const [first] = (client as unknown as { readonly masters: readonly { readonly port: number }[] })
    .masters
  if (!first) throw new Error('The client knows of no members.')
  return first.port
}

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
  await eventually('nobody listens', async () => (await subscriptions(cluster)).length === 0)
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

  test('a Cluster client of a server without a Cluster says so, and so does a wrong password', async () => {
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
    'a client of %s that reaches nobody is left with one command and no listeners, however often it is used',
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
