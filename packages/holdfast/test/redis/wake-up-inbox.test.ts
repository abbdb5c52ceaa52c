/** Messages that come early, never, or from another program. */
import { createLocks } from 'holdfast'
import { Gate } from 'holdfast/testing'
import { redisStore, type IoRedisClient } from 'holdfast/redis'
import type { PushedGrant } from 'holdfast/store'
import { expect, test } from 'vitest'
import type { RedisServer } from '@holdfast/servers/redis'
import { eventually } from '@holdfast/servers/eventually'
import {
  closing,
  connectTo,
  LIBRARIES,
  makeClaim,
  openStore,
  QUEUE,
  startServer,
  take,
} from './support/world.js'

/** A client like another, with something of its own. */
function clientLike(inner: IoRedisClient, changes: Partial<IoRedisClient>): IoRedisClient {
  return {
    get status() {
      return inner.status
    },
    options: inner.options,
    call: (command, ...args) => inner.call(command, ...args),
    duplicate: (override) => inner.duplicate(override),
    on: (event, listener) => inner.on(event, listener),
    off: (event, listener) => inner.off(event, listener),
    ...changes,
  }
}

async function channelOf(server: RedisServer): Promise<string> {
  const reply = await server.command('PUBSUB', 'CHANNELS')
  return reply.split('\r\n').find((line) => line.startsWith('hf:')) ?? ''
}

test('a grant that overtakes the answer to its attempt is not lost', async () => {
  const server = await startServer()
  const inner = connectTo(server.url) as IoRedisClient
  let holdBack: Promise<void> = Promise.resolve()
  const client = clientLike(inner, {
    async call(command, ...args) {
      const reply = await inner.call(command, ...args)
      await holdBack
      return reply
    },
  })
  const [one, two] = [openStore(server), closing(redisStore({ client }))]
  const holder = makeClaim('lock')
  await take(one, holder)
  await two.watch(makeClaim('other'), () => undefined).ready

  const gate = new Gate()
  holdBack = gate.opened
  const waiter = makeClaim('lock')
  const attempt = two.attempt(waiter, QUEUE)
  await eventually('it waits', async () => (await one.inspect(['lock']))[0]?.waiters.length === 1)
  await one.withdraw(holder)
  // A message of its own, which comes after the grant: when it is here, the grant has been.
  const other = makeClaim('other')
  let heard = false
  const marker = two.watch(other, () => (heard = true))
  await server.command('PUBLISH', await channelOf(server), `${other.id} 1 1 1000`)
  await eventually('the messages came', () => heard)
  marker.close()

  gate.open()
  expect((await attempt).outcome).toBe('waiting')
  let pushed: PushedGrant | undefined
  const watch = two.watch(waiter, (grant) => (pushed = grant))
  await eventually('the grant', () => pushed !== undefined, { withinMs: 1000 })
  watch.close()
  expect(await two.attempt(waiter, QUEUE)).toMatchObject({
    outcome: 'granted',
    token: pushed?.token,
  })
})

test.each(LIBRARIES)(
  'a waiter learns of a refused subscription, which is retried, through %s',
  async (library) => {
    const server = await startServer()
    const rights = ['on', '>pass', '~*', 'resetchannels', '+@all']
    await server.command('ACL', 'SETUSER', 'locker', ...rights)
    const store = openStore(
      { url: server.url.replace('redis://', 'redis://locker:pass@') },
      library,
    )
    const [holder, waiter] = [makeClaim('lock'), makeClaim('lock', { heartbeatMs: 60_000 })]
    await take(store, holder)
    await store.attempt(waiter, QUEUE)
    const heard: (PushedGrant | undefined)[] = []
    const watch = store.watch(waiter, (grant) => heard.push(grant))
    await expect(watch.ready).rejects.toMatchObject({
      code: 'STORE_AUTH',
      message: expect.stringMatching(/channel.*only asks again with each heartbeat/s) as string,
    })
    await server.command('ACL', 'SETUSER', 'locker', '&*')
    await eventually('what was missed is to be looked for', () => heard.length > 0)
    expect(heard).toEqual([undefined])
    await store.withdraw(holder)
    await eventually('the grant', () => heard.length > 1)
    expect(heard[1]).toMatchObject({ tokens: 1 })
    watch.close()
  },
)

test('nothing is kept of a waiter that waited in vain for a subscription', async () => {
  const server = await startServer()
  const store = closing(redisStore({ client: deafClient(server.url) }))
  const settled: string[] = []
  const watches = ['one', 'two'].map((lock) => {
    const watch = store.watch(makeClaim(lock), () => undefined)
    void watch.ready?.then(() => settled.push(lock))
    return watch
  })
  expect(settled).toEqual([])
  watches[0]?.close()
  await eventually('the waiter that left is settled', () => settled.length > 0, { withinMs: 1000 })
  expect(settled).toEqual(['one'])
  await store.close()
  await eventually('the other one is settled by close', () => settled.length === 2, {
    withinMs: 1000,
  })
})

/** One whose subscriptions are never answered. */
function deafClient(url: string): IoRedisClient {
  const connection = {
    status: 'ready',
    options: {},
    call: () => Promise.resolve(undefined),
    connect: () => Promise.resolve(undefined),
    duplicate: () => connection,
    subscribe: () => new Promise<never>(() => undefined),
    on: () => undefined,
    off: () => undefined,
    disconnect: () => undefined,
  }
  return clientLike(connectTo(url) as IoRedisClient, { duplicate: () => connection })
}

test('a waiter that hears no message at all is served by its heartbeats', async () => {
  const server = await startServer()
  const store = closing(redisStore({ client: deafClient(server.url) }))
  const [one, two] = [createLocks(openStore(server)), createLocks(store)]
  const lease = await one.mutex('lock').acquire()
  const waiting = two.mutex('lock').acquire()
  await eventually('it waits', async () => (await store.inspect(['lock']))[0]?.waiters.length === 1)
  const releasedMs = performance.now()
  await lease.release()
  expect((await waiting).held).toBe(true)
  expect(performance.now() - releasedMs).toBeLessThan(2500)
  await Promise.all([one.close(), two.close()])
})

test('what other programs write to the channel harms no waiter', async () => {
  const server = await startServer()
  const store = openStore(server)
  const [holder, waiter] = [makeClaim('lock'), makeClaim('lock')]
  await take(store, holder)
  await store.attempt(waiter, QUEUE)
  const grants: (PushedGrant | undefined)[] = []
  const watch = store.watch(waiter, (grant) => grants.push(grant))
  await watch.ready
  const channel = await channelOf(server)
  const { id } = waiter
  const rubbish = [
    '',
    ' ',
    '\n\n',
    '{}',
    id,
    `${id} x 1 1000`,
    `${id} 1 0 1000`,
    `${id} 1 1 -5`,
    `${id} 1 1 5 5`,
    'unknown 1 1 1000',
  ]
  for (const text of [...rubbish, `${id} 7 1 1000`]) await server.command('PUBLISH', channel, text)
  await eventually('the last one', () => grants.length > 0)
  expect(grants).toEqual([{ token: 7n, tokens: 1, ttlMs: 1000 }])
  watch.close()
})
