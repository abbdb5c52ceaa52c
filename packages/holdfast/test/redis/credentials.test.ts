/** A password that is wrong from the start is an error; one that is changed is an outage. */
import { createServer, type AddressInfo } from 'node:net'
import { createLocks, type Locks } from 'holdfast'
import { redisStore, type RedisClient } from 'holdfast/redis'
import { redlockStore } from 'holdfast/redlock'
import { Redis } from 'ioredis6'
import { createClient } from 'redis6'
import { afterAll, expect, test } from 'vitest'
import { askSentinel, startRedis } from '@holdfast/servers/redis'
import { LIBRARIES, openClusterClient, openSentinelClient } from '@holdfast/servers/redis-clients'
import { after } from '../../../../test/support/after.js'
import { oneOfEach, sharedCluster } from './support/cluster.js'
import { startTestSentinels } from './support/world.js'

// node-redis sends a command that it keeps also after a refused login, as the default user.
const server = await startRedis({ password: 'of the default user' })
afterAll(() => server.stop())

function ioredis(username: string, password: string, enableReadyCheck = true): Redis {
  const client = new Redis({ port: server.port, username, password, enableReadyCheck })
  client.on('error', () => undefined)
  after(() => client.disconnect())
  return client
}

function nodeRedis(username: string, password: string): RedisClient {
  const client = createClient({ username, password, socket: { port: server.port } })
  client.on('error', () => undefined)
  client.connect().catch(() => undefined)
  after(() => client.destroy())
  return client
}

const OPEN = {
  ioredis: (user: string, password: string) => redisStore({ client: ioredis(user, password) }),
  'ioredis without a ready check': (user: string, password: string) =>
    redisStore({ client: ioredis(user, password, false) }),
  'node-redis': (user: string, password: string) =>
    redisStore({ client: nodeRedis(user, password) }),
  Redlock: (user: string, password: string) =>
    redlockStore({ clients: [1, 2, 3].map(() => ioredis(user, password)) }),
}
const NAMES = Object.keys(OPEN) as (keyof typeof OPEN)[]

function locksOf(name: keyof typeof OPEN, user: string, password: string): Locks {
  const locks = createLocks(OPEN[name](user, password))
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

async function userOf(name: string): Promise<string> {
  const user = name.replaceAll(' ', '-')
  await server.command('ACL', 'SETUSER', user, 'on', '>right', '~*', '&*', '+@all')
  return user
}

/** Every attempt is an outage. The reason may be the end of a connection before it is the login. */
async function expectOutage(locks: Locks, name: string, reason = 'password'): Promise<void> {
  const attempt = async (): Promise<string> => {
    const failure: unknown = await locks
      .mutex(name)
      .tryAcquire()
      .catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    return (failure as Error).message
  }
  await expect.poll(attempt, { timeout: 60_000 }).toContain(reason)
}

test.each(NAMES)('%s, a wrong password: STORE_AUTH at once', async (name) => {
  const locks = locksOf(name, await userOf(name), 'wrong')
  const refused = locks.mutex(`wrong ${name}`).acquire({ waitMs: 60_000 })
  await expect(refused).rejects.toMatchObject({ code: 'STORE_AUTH' })
})

test.each(NAMES)('%s, a password that changes: an outage for a waiter', async (name) => {
  const user = await userOf(name)
  const locks = locksOf(name, user, 'right')
  const lock = locks.mutex(`changed ${name}`, { renew: false })
  const holder = await lock.acquire()
  const waiting = lock.acquire({ waitMs: 60_000 })
  // Its request is answered after that of the waiter.
  expect(await lock.tryAcquire()).toBeUndefined()
  await server.command('ACL', 'SETUSER', user, 'resetpass', '>other')
  await server.command('CLIENT', 'KILL', 'USER', user)
  await expectOutage(locks, 'other')
  expect(holder.held).toBe(true)
  await server.command('ACL', 'SETUSER', user, 'resetpass', '>right')
  await holder.release()
  await (await waiting).release()
})

/** Options of a client of a Cluster, and how to give it another password. */
function loginOf(library: (typeof LIBRARIES)[number], username: string) {
  const login = { username, password: 'right' }
  const options =
    library === 'redis6'
      ? { defaults: { credentialsProvider: { type: 'async-credentials-provider', credentials } } }
      : { redisOptions: login }
  async function credentials(): Promise<typeof login> {
    return Promise.resolve({ ...login })
  }
  return { options, change: (password: string) => void (login.password = password) }
}

test.each(LIBRARIES)(
  'a Cluster through %s, a password that changes: an outage',
  async (library) => {
    const cluster = await sharedCluster()
    const everywhere = (...words: string[]): Promise<unknown> =>
      Promise.all(cluster.members.map(({ server: member }) => member.command(...words)))
    const user = `clerk-${library}`
    await everywhere('ACL', 'SETUSER', user, 'on', '>right', '~*', '&*', '+@all')
    const { options, change } = loginOf(library, user)
    const opened = openClusterClient(library, cluster.ports, options)
    after(() => opened.end())
    await opened.ready
    const store = redisStore({ client: opened.client, requestTimeoutMs: 2000 })
    const locks = createLocks(store)
    after(() => locks.close({ graceMs: 0 }))
    const [held = '', used = '', unused = ''] = await oneOfEach(cluster, `changed ${library}`)
    await (await locks.mutex(used).acquire()).release()
    const holder = await locks.mutex(held, { ttlMs: 600_000, renew: false }).acquire()
    const waiting = locks.mutex(held).acquire({ waitMs: 60_000 })
    waiting.catch(() => undefined)
    // Its request is answered after that of the waiter.
    expect(await locks.mutex(held).tryAcquire()).toBeUndefined()
    await everywhere('ACL', 'SETUSER', user, 'resetpass', '>other')
    await everywhere('CLIENT', 'KILL', 'USER', user)
    // The store has no connection yet to the owner of the last one.
    for (const name of [used, unused]) await expectOutage(locks, name)
    expect(holder.held).toBe(true)
    change('other')
    await holder.release()
    await (await waiting).release()
    await (await locks.mutex(unused).acquire({ waitMs: 60_000 })).release()
  },
)

/** Starts a Sentinel that wants a password. Returns its port. */
async function startClosedSentinel(): Promise<number> {
  const sentinel = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      for (const _ of String(data).matchAll(/\*\d+\r\n/g))
        socket.write('-NOAUTH Authentication required.\r\n')
    })
  })
  await new Promise<void>((resolve) => sentinel.listen(0, '127.0.0.1', resolve))
  after(() => sentinel.close())
  return (sentinel.address() as AddressInfo).port
}

test('ioredis, Sentinels that want a password: STORE_AUTH at once', async () => {
  const sentinels = [{ host: '127.0.0.1', port: await startClosedSentinel() }]
  const client = new Redis({ sentinels, name: 'primary' })
  client.on('error', () => undefined)
  after(() => client.disconnect())
  const locks = createLocks(redisStore({ client }))
  after(() => locks.close({ graceMs: 0 }))
  await expect(locks.mutex('a').acquire({ waitMs: 60_000 })).rejects.toMatchObject({
    code: 'STORE_AUTH',
    message: expect.stringContaining('asks for a password') as string,
  })
})

/** Options of a client of Sentinels that want a password, and how to give it another one. */
function sentinelLoginOf(library: (typeof LIBRARIES)[number]) {
  const login = { username: 'clerk', password: 'right' }
  const credentials = async (): Promise<typeof login> => Promise.resolve({ ...login })
  return {
    options:
      library === 'redis6'
        ? {
            sentinelClientOptions: {
              credentialsProvider: { type: 'async-credentials-provider', credentials },
            },
          }
        : { sentinelUsername: 'clerk', sentinelPassword: 'right' },
    change(client: RedisClient, password: string): void {
      login.password = password
      if ('options' in client) Object.assign(client.options ?? {}, { sentinelPassword: password })
    },
  }
}

test.each(LIBRARIES)(
  'Sentinels through %s, a password that changes: an outage',
  async (library) => {
    const group = await startTestSentinels()
    const everywhere = (...words: string[]): Promise<unknown> =>
      Promise.all(group.sentinelPorts.map((port) => askSentinel(port, ...words)))
    await everywhere('ACL', 'SETUSER', 'clerk', 'on', '>right', '&*', '+@all')
    const { options, change } = sentinelLoginOf(library)
    const where = { name: group.name, ports: group.sentinelPorts }
    const opened = openSentinelClient(library, where, options)
    after(() => opened.end())
    await opened.ready
    const locks = createLocks(redisStore({ client: opened.client }))
    after(() => locks.close({ graceMs: 0 }))
    const lock = locks.mutex('changed', { ttlMs: 600_000, renew: false })
    const holder = await lock.acquire()
    const waiting = lock.acquire({ waitMs: 60_000 })
    waiting.catch(() => undefined)
    // Its request is answered after that of the waiter.
    expect(await lock.tryAcquire()).toBeUndefined()
    await everywhere('ACL', 'SETUSER', 'clerk', 'resetpass', '>other')
    await everywhere('CLIENT', 'KILL', 'USER', 'clerk')
    const primary = await group.primary()
    for (const type of ['normal', 'pubsub']) await primary.command('CLIENT', 'KILL', 'TYPE', type)
    const words = library === 'redis6' ? '' : 'password'
    await expectOutage(locks, 'other', words)
    expect(holder.held).toBe(true)
    change(opened.client, 'other')
    await holder.release()
    await (await waiting).release()
  },
)
