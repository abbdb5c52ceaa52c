/** The simple mode: what a server without scripts allows, and what must not go wrong in a transaction. */
import { createLocks } from 'holdfast'
import { redisMode, redisStore } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import type { Redis } from 'ioredis6'
import { expect, test } from 'vitest'
import { openClient } from '@holdfast/servers/redis-clients'
import { Proxy } from '@holdfast/servers/proxy'
import { freePorts } from '@holdfast/servers/service'
import type { RedisServer } from '@holdfast/servers/redis'
import {
  after,
  closing,
  connectTo,
  LIBRARIES,
  makeClaim,
  openStore,
  startServer,
  type Library,
} from './support/world.js'

const TRY = { enqueue: false, tokens: 1 }

function openSimple(
  server: RedisServer,
  { library = 'ioredis6', timeoutMs = 5000 }: { library?: Library; timeoutMs?: number } = {},
): Store<false> {
  return closing(redisStore({ client: connectTo(server.url, library), mode: 'simple', timeoutMs }))
}

test('the mode that a server allows is found out', async () => {
  const server = await startServer()
  const client = connectTo(server.url)
  expect(await redisMode({ client })).toBe('scripts')
  await server.command('ACL', 'SETUSER', 'default', '-evalsha')
  expect(await redisMode({ client })).toBe('simple')
  await server.command('ACL', 'SETUSER', 'default', '-@scripting')
  expect(await redisMode({ client })).toBe('simple')
})

test('a store with scripts says what to do where they are banned', async () => {
  const server = await startServer()
  await server.command('ACL', 'SETUSER', 'default', '-@scripting')
  await expect(openStore(server).attempt(makeClaim('a'), TRY)).rejects.toMatchObject({
    code: 'STORE_AUTH',
    message: expect.stringContaining("mode: 'simple'"),
  })
})

test('where transactions are refused as well, nothing is done without them', async () => {
  const server = await startServer()
  const claim = makeClaim('a')
  const store = openSimple(server)
  await store.attempt(claim, TRY)
  await server.command('ACL', 'SETUSER', 'default', '-multi')
  await expect(openSimple(server).withdraw(claim)).rejects.toMatchObject({ code: 'STORE_AUTH' })
  expect(await server.command('EXISTS', 'hf:{a}')).toBe(':1\r\n')
})

test.each(LIBRARIES)('a server that is not there is told in time, through %s', async (library) => {
  const [port] = await freePorts(1)
  const options = library.startsWith('io') ? { maxRetriesPerRequest: null } : {}
  const client = connectTo(`redis://127.0.0.1:${port}`, library, options)
  const startMs = performance.now()
  await expect(redisMode({ client, timeoutMs: 1000 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(performance.now() - startMs).toBeLessThan(3000)
})

test.each(LIBRARIES)('verbs are repeated when their connection breaks, through %s', async (library) => {
  const server = await startServer()
  const store = openSimple(server, { library })
  const claim = makeClaim('a')
  for (const step of ['attempt', 'renew', 'withdraw'] as const) {
    if (step === 'attempt') expect((await store.attempt(claim, TRY)).outcome).toBe('granted')
    if (step === 'renew') expect(await store.renew([claim])).toEqual([{ outcome: 'renewed' }])
    if (step === 'withdraw') expect(await store.withdraw(claim)).toBe('released')
    await server.command('CLIENT', 'KILL', 'TYPE', 'normal')
  }
  expect((await store.attempt(claim, TRY)).outcome).toBe('withdrawn')
})

test.each(LIBRARIES)(
  'a server that is away is told of in time, and used when it is back, through %s',
  async (library) => {
    const server = await startServer()
    const store = openSimple(server, { library, timeoutMs: 1000 })
    await store.attempt(makeClaim('a'), TRY)
    server.pause()
    await expect(store.attempt(makeClaim('b'), TRY)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await store.renew([makeClaim('b')])).toMatchObject([{ outcome: 'unknown' }])
    server.resume()
    await server.kill()
    await expect(store.attempt(makeClaim('b'), TRY)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await server.start()
    await expect.poll(() => answerOf(store), { timeout: 8000 }).toBe('granted')
  },
)

async function answerOf(store: Store): Promise<string> {
  try {
    return (await store.attempt(makeClaim('b'), TRY)).outcome
  } catch (error) {
    return String(error)
  }
}

test('an attempt that the server gets round to after the withdrawal holds nothing', async () => {
  const server = await startServer()
  const [store, other] = [openSimple(server, { timeoutMs: 1000 }), openSimple(server)]
  const claim = makeClaim('a')
  await store.attempt(makeClaim('warm'), TRY)
  server.pause()
  await expect(store.attempt(claim, TRY)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  server.resume()
  await other.withdraw(claim)
  expect((await other.attempt(claim, TRY)).outcome).toBe('withdrawn')
  expect((await other.attempt(makeClaim('a'), TRY)).outcome).toBe('granted')
})

test('a release that is overtaken by the end of its lease does not release the next holder', async () => {
  const server = await startServer()
  const wire = await Proxy.to(server.port)
  after(() => wire.close())
  const client = connectTo(`redis://127.0.0.1:${wire.port}`, 'ioredis6')
  const [store, other] = [closing(redisStore({ client, mode: 'simple' })), openSimple(server)]
  const [stale, next] = [makeClaim('a', { ttlMs: 400 }), makeClaim('a')]
  await store.attempt(makeClaim('warm'), TRY)
  expect((await store.attempt(stale, TRY)).outcome).toBe('granted')
  // It still holds the lock when the release looks, and not any more when the look has come back.
  wire.faults.replyMs = 600
  const released = store.withdraw(stale)
  await expect
    .poll(async () => (await other.attempt(next, TRY)).outcome, { timeout: 8000, interval: 10 })
    .toBe('granted')
  expect(await released).toBe('absent')
  expect(await other.renew([next])).toEqual([{ outcome: 'renewed' }])
})

test('programs that disagree on the mode are told', async () => {
  const server = await startServer()
  const [simple, scripts] = [openSimple(server), openStore(server)]
  await simple.attempt(makeClaim('a'), TRY)
  await expect(scripts.attempt(makeClaim('a'), TRY)).rejects.toMatchObject({
    code: 'STORE_CONFIG',
    lock: 'a',
  })
  await scripts.attempt(makeClaim('b'), TRY)
  await expect(simple.attempt(makeClaim('b'), TRY)).rejects.toMatchObject({ code: 'STORE_CONFIG', lock: 'b' })
})

test.each(['redis5', 'redis6'] as const)(
  'what a client of %s says about the order of commands and about waiting for a connection does not matter',
  async (library) => {
    const server = await startServer()
    const options = { disableOfflineQueue: true, commandOptions: { asap: true } }
    const opened = openClient(library, server.url, options)
    after(() => opened.end())
    await opened.ready
    const store = closing(redisStore({ client: opened.client, mode: 'simple' }))
    const claim = makeClaim('a')
    expect((await store.attempt(claim, TRY)).outcome).toBe('granted')
    expect(await store.withdraw(claim)).toBe('released')
  },
)

test.each(['ioredis5', 'ioredis6'] as const)(
  'locks are in the database that a client of %s has selected',
  async (library) => {
    const server = await startServer()
    const client = connectTo(server.url, library) as Redis
    await client.select(3)
    const store = closing(redisStore({ client, mode: 'simple' }))
    await store.attempt(makeClaim('a'), TRY)
    expect(await client.call('EXISTS', 'hf:{a}')).toBe(1)
  },
)

test('the prefix of the client stands before the keys, once', async () => {
  const server = await startServer()
  const client = connectTo(server.url, 'ioredis6', { keyPrefix: 'app:' })
  const store = closing(redisStore({ client, mode: 'simple' }))
  await store.attempt(makeClaim('a'), TRY)
  expect(await server.command('KEYS', '*')).toBe('*1\r\n$10\r\napp:hf:{a}\r\n')
})

test('what the mode lacks is refused, and its leases have no token', async () => {
  const server = await startServer()
  const locks = createLocks(openSimple(server))
  const refusal = expect.objectContaining({ code: 'UNSUPPORTED', message: expect.stringContaining('mutex') })
  expect(() => locks.semaphore('gpu', { permits: 2 }).tryAcquire()).toThrow(refusal)
  await expect(locks.inspect()).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  await expect(locks.steal('a')).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  const lease = await locks.mutex('a').acquire()
  expect(lease.token).toBeUndefined()
  expect(await lease.release()).toBe('released')
  await locks.close()
})

test('a mode that does not exist is refused', async () => {
  const server = await startServer()
  const client = connectTo(server.url)
  expect(() => redisStore({ client, mode: 'none' as never })).toThrow(
    expect.objectContaining({ code: 'LOCK_USAGE' }),
  )
})
