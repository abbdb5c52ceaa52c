/** The database that a client is in, and connections that cannot reach it. */
import { redisStore, type IoRedisClient } from 'holdfast/redis'
import { describe, expect, test } from 'vitest'
import { openClient } from '@holdfast/servers/redis-clients'
import type { RedisServer } from '@holdfast/servers/redis'
import { eventually } from '@holdfast/servers/eventually'
import {
  after,
  closing,
  connectTo,
  makeClaim,
  openStore,
  startServer,
  take,
  TRY,
} from './support/world.js'

/** How long something takes that must fail, and how it fails. */
async function failure(promise: PromiseLike<unknown>): Promise<{ error: unknown; tookMs: number }> {
  const startMs = performance.now()
  try {
    await promise
  } catch (error) {
    return { error, tookMs: performance.now() - startMs }
  }
  throw new Error('it was expected to fail')
}

/** Ends all connections of a kind on the server's side. */
async function killConnections(server: RedisServer, type: 'normal' | 'pubsub'): Promise<number> {
  const reply = await server.command('CLIENT', 'KILL', 'TYPE', type)
  return Number(reply.slice(1))
}

test.each([
  ['redis6', {}],
  ['redis6', { minReplicas: 1, replicaTimeoutMs: 4000 }],
] as const)(
  'a client of %s that keeps no commands while it is not connected will do, with %o',
  async (library, options) => {
    const server = await startServer({ config: [['repl-diskless-sync-delay', '0']] })
    const replica = await startServer({ config: [['replicaof', `127.0.0.1 ${server.port}`]] })
    await eventually('the replica follows', async () =>
      (await replica.command('ROLE')).includes('connected'),
    )
    const opened = openClient(library, server.url, { disableOfflineQueue: true })
    after(() => opened.end())
    await opened.ready
    const store = closing(redisStore({ client: opened.client, ...options }))
    await take(store, makeClaim('lock'))
  },
)

test.each([
  ['ioredis5', { db: 99 }],
  ['ioredis6', { db: 99 }],
  ['redis6', { database: 99 }],
  ['redis6', { username: 'unknown', password: 'wrong' }],
] as const)(
  'a client of %s with %o takes no lock where it was not to go',
  async (library, options) => {
    const server = await startServer()
    // From now on the server knows the scripts, and does at once what it is asked.
    await take(openStore(server), makeClaim('warm'))
    const store = closing(redisStore({ client: connectTo(server.url, library, options) }))
    const attempts = Array.from(
      { length: 3 },
      () => store.attempt(makeClaim('lock'), TRY) as Promise<unknown>,
    )
    for (const { error, tookMs } of await Promise.all(attempts.map(failure))) {
      expect(String(error)).toMatch(/DB index is out of range|WRONGPASS/)
      expect(tookMs).toBeLessThan(2000)
    }
    expect(await server.command('EXISTS', 'hf:{lock}')).toBe(':0\r\n')
  },
)

describe.each(['ioredis5', 'ioredis6'] as const)(
  'a client of %s whose SELECT was refused',
  (library) => {
    test.each([
      ['by the rights of its user', { db: 3, username: 'bound', password: 'secret' }, 'STORE_AUTH'],
      ['for there is no such database', { db: 99 }, 'STORE_CONFIG'],
    ] as const)(
      'takes no lock in another database, early or late: %s',
      async (_, options, code) => {
        const server = await startServer()
        await server.command(
          'ACL',
          'SETUSER',
          'bound',
          'on',
          '>secret',
          '~*',
          '&*',
          '+@all',
          '-select',
        )
        const client = connectTo(server.url, library, options)
        const early = closing(redisStore({ client }))
        await expect(early.attempt(makeClaim('lock'), TRY)).rejects.toMatchObject({ code })
        await eventually(
          'the library calls it ready',
          () => Reflect.get(client, 'status') === 'ready',
        )
        const late = closing(redisStore({ client }))
        for (const store of [late, early]) {
          await expect(store.attempt(makeClaim('lock'), TRY)).rejects.toMatchObject({ code })
        }
        expect(await server.command('DBSIZE')).toBe(':0\r\n')
      },
    )

    test('is heard of again when it may', async () => {
      const server = await startServer()
      await server.command(
        'ACL',
        'SETUSER',
        'bound',
        'on',
        '>secret',
        '~*',
        '&*',
        '+@all',
        '-select',
      )
      const client = connectTo(server.url, library, {
        db: 3,
        username: 'bound',
        password: 'secret',
      })
      const store = closing(redisStore({ client }))
      await expect(store.attempt(makeClaim('lock'), TRY)).rejects.toMatchObject({
        code: 'STORE_AUTH',
      })
      // The library's own SELECT was refused first. Ours is answered before the rights change.
      await (client as IoRedisClient).call('PING')
      await server.command('ACL', 'SETUSER', 'bound', '+select')
      await take(store, makeClaim('another lock'))
      await killConnections(server, 'normal')
      // Calls in flight when the connection breaks fail with it.
      const granted = (): Promise<boolean> =>
        Promise.resolve(store.attempt(makeClaim('other'), TRY)).then(
          ({ outcome }) => outcome === 'granted',
          () => false,
        )
      await eventually('it is back', granted)
      expect(await server.command('DBSIZE')).toBe(':0\r\n')
    })
  },
)
