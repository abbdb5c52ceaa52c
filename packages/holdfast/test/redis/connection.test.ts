/** Connections that fail, break and come back, through each client library. */
import { inspectPage } from 'holdfast/internal'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { inspect } from 'node:util'
import { createLocks, type LockError } from 'holdfast'
import { redisStore, type NodeRedisClient, type RedisClient } from 'holdfast/redis'
import { describe, expect, test } from 'vitest'
import { freePorts } from '@holdfast/servers/ports'
import type { RedisServer } from '@holdfast/servers/redis'
import { eventually } from '@holdfast/servers/eventually'
import { createSentinel } from 'redis6'
import { explain } from '../../dist/stores/redis/errors.js'
import { transportOf } from '../../dist/stores/redis/connection/open.js'
import {
  after,
  closing,
  connectTo,
  LIBRARIES,
  makeClaim,
  openStore,
  QUEUE,
  startServer,
  take,
  TRY,
} from './support/world.js'

/** Ends all connections of a kind on the server's side. */
async function killConnections(server: RedisServer, type: 'normal' | 'pubsub'): Promise<number> {
  const reply = await server.command('CLIENT', 'KILL', 'TYPE', type)
  return Number(reply.slice(1))
}

async function listens(server: RedisServer): Promise<boolean> {
  return (await server.command('PUBSUB', 'CHANNELS')).includes('hf:')
}

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

/** The ping of the client itself, to see that it is still open. */
function ping(client: RedisClient): Promise<unknown> {
  return 'call' in client ? client.call('PING') : (client as NodeRedisClient).sendCommand(['PING'])
}

for (const library of LIBRARIES) {
  describe(`through ${library}`, () => {
    test('a wrong password rejects at once, and is not printed', async () => {
      const server = await startServer({ password: 'right-secret' })
      const url = server.url.replace('right-secret', 'wrong-secret')
      const store = openStore({ url }, library)
      const { error, tookMs } = await failure(
        store.attempt(makeClaim('lock'), TRY) as Promise<unknown>,
      )
      expect(error).toMatchObject({
        code: 'STORE_AUTH',
        store: 'redis',
        name: 'StoreUnavailableError',
      })
      expect(tookMs).toBeLessThan(2000)
      expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/secret/)
    })

    test('a missing password rejects at once', async () => {
      const server = await startServer({ password: 'right-secret' })
      const store = openStore({ url: `redis://127.0.0.1:${server.port}` }, library)
      const { error, tookMs } = await failure(
        store.attempt(makeClaim('lock'), TRY) as Promise<unknown>,
      )
      expect(error).toMatchObject({ code: 'STORE_AUTH' })
      expect(tookMs).toBeLessThan(2000)
    })

    test('a server that is not there rejects each call at once', async () => {
      const [port] = await freePorts(1)
      const store = openStore({ url: `redis://:a-secret@127.0.0.1:${port}` }, library)
      for (let times = 0; times < 2; times += 1) {
        const { error, tookMs } = await failure(
          store.attempt(makeClaim('lock'), TRY) as Promise<unknown>,
        )
        expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
        expect(String(error)).toMatch(/ECONNREFUSED.*Check that the server runs/)
        expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/a-secret/)
        expect(tookMs).toBeLessThan(2000)
      }
    })

    test('a server that goes away and comes back is used again, and waiters keep on waiting', async () => {
      const server = await startServer({ appendOnly: true })
      const [one, two] = [openStore(server, library), openStore(server, library)]
      const [holder, waiter] = [createLocks(one), createLocks(two)]
      const lease = await holder.mutex('lock').acquire()
      const waiting = waiter.mutex('lock').acquire()
      await eventually(
        'it waits',
        async () => (await one.inspect(['lock']))[0]?.waiters.length === 1,
      )
      await server.kill()
      const { error } = await failure(holder.mutex('other').tryAcquire())
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
      await server.start()
      await eventually('it is back', () =>
        holder
          .mutex('other')
          .tryAcquire()
          .then(
            (got) => got !== undefined,
            () => false,
          ),
      )
      expect(lease.held).toBe(true)
      expect(await lease.release()).toBe('released')
      expect((await waiting).held).toBe(true)
      await Promise.all([holder.close(), waiter.close()])
    })

    test('a connection that is killed under commands does not fail them', async () => {
      const server = await startServer()
      const store = openStore(server, library)
      for (let round = 0; round < 5; round += 1) {
        // A client that was answered before the kill has not connected again yet.
        await take(store, makeClaim(`warm ${round}`))
        const claims = Array.from({ length: 8 }, (_, index) => makeClaim(`lock ${round} ${index}`))
        const taken = Promise.all(claims.map((claim) => take(store, claim)))
        expect(await killConnections(server, 'normal')).toBeGreaterThan(0)
        await taken
        const released = Promise.all(claims.map(async (claim) => store.withdraw(claim)))
        await killConnections(server, 'normal')
        expect(await released).toEqual(claims.map(() => 'released'))
      }
    })

    test('a claim that may have been sent twice is refused for long after its release', async () => {
      const server = await startServer()
      const store = openStore(server, library)
      await take(store, makeClaim('warm'))
      const claim = makeClaim('lock')
      await server.command('CLIENT', 'PAUSE', '10000', 'WRITE')
      const taken = take(store, claim)
      await eventually('it has arrived', async () =>
        (await server.command('CLIENT', 'LIST')).includes('cmd=evalsha'),
      )
      expect(await killConnections(server, 'normal')).toBeGreaterThan(0)
      await server.command('CLIENT', 'UNPAUSE')
      await taken
      expect(await store.withdraw(claim)).toBe('released')
      for (let others = 0; others < 50; others += 1) {
        const other = makeClaim('lock')
        await take(store, other)
        await store.withdraw(other)
      }
      expect(await store.attempt(claim, QUEUE)).toEqual({ outcome: 'withdrawn' })
    })

    test('a subscription that is killed is made again, and no waiter is forgotten meanwhile', async () => {
      const server = await startServer()
      const [one, two] = [openStore(server, library), openStore(server, library)]
      let holder = makeClaim('lock')
      await take(one, holder)
      for (let round = 0; round < 3; round += 1) {
        const waiter = makeClaim('lock', { heartbeatMs: 60_000 })
        await two.attempt(waiter, QUEUE)
        let wakes = 0
        const watch = two.watch(waiter, () => (wakes += 1))
        await watch.ready
        await eventually('the channel is there', async () =>
          (await server.command('PUBSUB', 'CHANNELS')).includes('hf:'),
        )
        // Killed before the hand-off, so that its message is lost: the new subscription is the cue
        // to ask.
        expect(await killConnections(server, 'pubsub')).toBe(1)
        await one.withdraw(holder)
        await eventually('it is woken', () => wakes > 0)
        expect((await two.attempt(waiter, QUEUE)).outcome).toBe('granted')
        watch.close()
        holder = waiter
      }
    })

    test('a subscription is made again also for a client that would not connect again itself', async () => {
      const server = await startServer()
      const gaveUp = library.startsWith('ioredis')
        ? { retryStrategy: () => null }
        : { socket: { reconnectStrategy: false } }
      const store = closing(redisStore({ client: connectTo(server.url, library, gaveUp) }))
      const [holder, waiter] = [makeClaim('lock'), makeClaim('lock', { heartbeatMs: 60_000 })]
      await eventually('it is connected', () =>
        Promise.resolve(store.attempt(holder, TRY)).then(
          ({ outcome }) => outcome === 'granted',
          () => false,
        ),
      )
      await store.attempt(waiter, QUEUE)
      let wakes = 0
      const watch = store.watch(waiter, () => (wakes += 1))
      await watch.ready
      await eventually('the channel is there', () => listens(server))
      expect(await killConnections(server, 'pubsub')).toBe(1)
      await eventually('it asks after the gap', () => wakes > 0)
      expect(await store.withdraw(holder)).toBe('released')
      await eventually('the grant', () => wakes > 1)
      watch.close()
      // It does not try forever.
      await killConnections(server, 'pubsub')
      await store.close()
      await eventually('it is gone', async () => !(await listens(server)))
    })

    test('a server that has stopped is not waited for longer than requestTimeoutMs', async () => {
      const server = await startServer()
      const store = openStore(server, library, { requestTimeoutMs: 400 })
      const claim = makeClaim('lock')
      await take(store, claim)
      server.pause()
      after(() => server.resume())
      const { error, tookMs } = await failure(store.withdraw(claim) as Promise<unknown>)
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
      expect(tookMs).toBeLessThan(2000)
      const [renewed] = await store.renew([claim])
      expect(renewed).toMatchObject({ outcome: 'unknown', cause: { code: 'STORE_UNAVAILABLE' } })
      server.resume()
      // The withdrawal arrived late, and says again what it did.
      await eventually('it answers', () =>
        Promise.resolve(store.withdraw(claim)).then(
          (outcome) => outcome === 'released',
          () => false,
        ),
      )
    })

    test('the client of the caller stays open, and the connection of the store does not', async () => {
      const server = await startServer()
      const client = connectTo(server.url, library)
      const store = redisStore({ client })
      const [holder, waiter] = [makeClaim('lock'), makeClaim('lock')]
      await take(store, holder)
      await store.attempt(waiter, QUEUE)
      await store.watch(waiter, () => undefined).ready
      await eventually('it listens', async () =>
        (await server.command('PUBSUB', 'CHANNELS')).includes('hf:'),
      )
      await store.close()
      await eventually(
        'it is gone',
        async () => !(await server.command('PUBSUB', 'CHANNELS')).includes('hf:'),
      )
      expect(await ping(client)).toBe('PONG')
      await expect(store.attempt(makeClaim('lock'), TRY)).rejects.toMatchObject({
        code: 'LOCKS_CLOSED',
      })
      // Another store on the same client is not concerned.
      expect(await closing(redisStore({ client })).withdraw(holder)).toBe('released')
    })

    test('a client that was never connected, or is closed, rejects with that reason', async () => {
      const server = await startServer()
      const client = connectTo(server.url, library)
      await eventually('it is connected', () => ping(client).then(Boolean, () => false))
      if ('call' in client) (client as unknown as { disconnect(): void }).disconnect()
      else (client as unknown as { destroy(): void }).destroy()
      const store = closing(redisStore({ client }))
      const { error, tookMs } = await failure(
        store.attempt(makeClaim('lock'), TRY) as Promise<unknown>,
      )
      // A client of node-redis that was closed before the store was made is like one that was never
      // connected.
      expect(['LOCKS_CLOSED', 'STORE_UNAVAILABLE']).toContain((error as LockError).code)
      expect(String(error)).toMatch(/closed/)
      expect(tookMs).toBeLessThan(4000)
    })

    test.each(['app:', '{app}:'])(
      'keys with the prefix %s of the client are the same for every verb',
      async (keyPrefix) => {
        const server = await startServer()
        const client = connectTo(server.url, library, { keyPrefix })
        const store = closing(redisStore({ client, prefix: 'locks' }))
        const [holder, waiter] = [makeClaim('lock'), makeClaim('lock')]
        await take(store, holder)
        await store.attempt(waiter, QUEUE)
        let wakes = 0
        const watch = store.watch(waiter, () => (wakes += 1))
        await watch.ready
        expect(await server.command('EXISTS', `${keyPrefix}locks:{lock}`)).toBe(':1\r\n')
        expect(
          (await inspectPage(store, { prefix: 'lo', limit: 10 })).locks.map(({ lock }) => lock),
        ).toEqual(['lock'])
        await store.withdraw(holder)
        await eventually('it is woken', () => wakes > 0)
      },
    )
  })
}

test('what is asked of a client of redis6 before it is connected is sent in its order', async () => {
  const server = await startServer({ password: 'right-secret' })
  const transport = transportOf(connectTo(server.url, 'redis6'))
  const asked = Array.from({ length: 50 }, (_, index) =>
    transport.command('RPUSH', 'list', String(index)),
  )
  expect(await Promise.all(asked)).toEqual(asked.map((_, index) => index + 1))
  expect((await transport.command('LRANGE', 'list', '0', '-1')) as string[]).toEqual(
    asked.map((_, index) => String(index)),
  )
})

test('a client of Sentinels of redis6 that was never connected rejects with that reason', async () => {
  const options = { name: 'primary', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] }
  const client = createSentinel(options)
  const store = closing(redisStore({ client }))
  const { error } = await failure(store.attempt(makeClaim('lock'), TRY) as Promise<unknown>)
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(String(error)).toMatch(/closed, or was never connected/)
})

test('the reason of an error without a message is looked for', () => {
  const refused = new Error('connect ECONNREFUSED 127.0.0.1:1')
  expect(explain(new Error('', { cause: refused })).message).toContain(refused.message)
  expect(explain(new AggregateError([refused], '')).message).toContain(refused.message)
  expect(explain(Object.assign(new Error(''), { code: 'EPROTO' })).message).toContain('EPROTO')
  expect(explain(new AggregateError([], '')).message).toContain('AggregateError')
})

test('a server that is no Redis server is reported', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  const { port } = server.address() as { port: number }
  const store = openStore({ url: `redis://127.0.0.1:${port}` }, 'ioredis5')
  const { error } = await failure(store.attempt(makeClaim('lock'), TRY) as Promise<unknown>)
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
})
