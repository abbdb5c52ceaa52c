/** A password that is wrong from the start is an error; one that is changed is an outage. */
import { createServer, type AddressInfo } from 'node:net'
import { createLocks, type Locks } from 'holdfast'
import { redisStore, type RedisClient } from 'holdfast/redis'
import { redlockStore } from 'holdfast/redlock'
import { Redis } from 'ioredis6'
import { createClient } from 'redis6'
import { afterAll, expect, test } from 'vitest'
import { startRedis } from '@holdfast/servers/redis'
import { after } from '../../../../test/support/after.js'

const server = await startRedis()
afterAll(() => server.stop())

function ioredis(username: string, password: string, enableReadyCheck = true): Redis {
  const client = new Redis({ port: server.port, username, password, enableReadyCheck })
  client.on('error', () => undefined)
  after(() => client.disconnect())
  return client
}

function nodeRedis(username: string, password: string): RedisClient {
  const client = createClient({ url: server.url, username, password })
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
  await expect(locks.mutex('other').tryAcquire()).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringContaining('password') as string,
  })
  expect(holder.held).toBe(true)
  await server.command('ACL', 'SETUSER', user, 'resetpass', '>right')
  await holder.release()
  await (await waiting).release()
})

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
