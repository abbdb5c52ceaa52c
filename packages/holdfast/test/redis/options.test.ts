/** What redisStore is given, and what fits it. */
import { inspectPage } from 'holdfast/internal'
import type { EventEmitter } from 'node:events'
import { LockUsageError } from 'holdfast'
import { redisStore, type RedisClient, type RedisStoreOptions } from 'holdfast/redis'
import { redlockStore, type RedlockStoreOptions } from 'holdfast/redlock'
import { Redis as Redis5 } from 'ioredis5'
import { Redis as Redis6 } from 'ioredis6'
import { createClient, createCluster, createSentinel } from 'redis6'
import { expect, test } from 'vitest'
import { openClient } from '@holdfast/servers/redis-clients'
import { after, LIBRARIES, openStore, makeClaim, startServer, take, TRY } from './support/world.js'

const EVENTS = ['ready', 'close', 'end', 'error']

test('clients of all libraries fit the type, and nothing is sent before the store is used', () => {
  const url = 'redis://127.0.0.1:1'
  const clients: RedisClient[] = [
    new Redis5(url, { lazyConnect: true }),
    new Redis6(url, { lazyConnect: true }),
    createClient({ url }),
  ]
  for (const client of clients) expect(redisStore({ client }).name).toBe('redis')
  expect(clients.map((client) => ('status' in client ? client.status : client.isOpen))).toEqual([
    'wait',
    'wait',
    false,
  ])
})

test.each(LIBRARIES)(
  'many stores over one client of %s listen to it as one does, and none when they are closed',
  async (library) => {
    const server = await startServer()
    const opened = openClient(library, server.url)
    after(() => opened.end())
    await opened.ready
    const client = opened.client as RedisClient & EventEmitter
    const listeners = (): number[] => EVENTS.map((event) => client.listenerCount(event))
    const closed = listeners()
    const first = redisStore({ client })
    const one = listeners()
    const stores = Array.from({ length: 12 }, (_, index) =>
      redisStore({ client, prefix: `p${index}` }),
    )
    expect(listeners()).toEqual(one)
    await first.close()
    // The others hear as before.
    expect(listeners()).toEqual(one)
    for (const store of stores) await take(store, makeClaim('lock'))
    for (const store of stores) await store.close()
    expect(listeners()).toEqual(closed)
  },
)

test('options that make no sense are refused', () => {
  const client = createClient()
  const wrong = [
    { client: undefined },
    { client: null },
    { client: {} },
    { client: 'redis://127.0.0.1' },
    { client, prefix: '' },
    { client, prefix: 'with space' },
    { client, prefix: 'a{b}' },
    { client, prefix: 'x'.repeat(65) },
    { client, prefix: 7 },
    { client, requestTimeoutMs: 0 },
    { client, requestTimeoutMs: NaN },
    { client, requestTimeoutMs: Infinity },
    { client, requestTimeoutMs: '5' },
    { client, mode: 'simple' },
    { client, mode: 'scripts' },
  ]
  for (const options of [undefined, null, 'redis://127.0.0.1']) {
    expect(() => redisStore(options as unknown as RedisStoreOptions)).toThrow(LockUsageError)
    expect(() => redlockStore(options as unknown as RedlockStoreOptions)).toThrow(LockUsageError)
  }
  for (const options of wrong) {
    expect(
      () => redisStore(options as unknown as RedisStoreOptions),
      JSON.stringify(options),
    ).toThrow(LockUsageError)
  }
})

test('clients of node-redis 5 are refused with what to use instead', () => {
  const rootNodes = [{ url: 'redis://127.0.0.1:1' }]
  const sentinelRootNodes = [{ host: '127.0.0.1', port: 1 }]
  const clients: RedisClient[] = [
    createClient(),
    createSentinel({ name: 'primary', sentinelRootNodes }),
    createCluster({ rootNodes }),
  ]
  for (const client of clients) {
    // The command by which they differ.
    const old = new Proxy<RedisClient>(client, {
      has: (of, name) => name !== 'clientUnblock' && name in of,
    })
    expect(() => redisStore({ client: old })).toThrow(/node-redis 5.*redis@6/)
    expect(redisStore({ client }).name).toBe('redis')
  }
})

test('a client of node-redis 4 is refused by its name', () => {
  const client = createClient()
  // As its clients and those of its Cluster have it, and later ones have not.
  const added = Object.assign(Object.create(client) as typeof client, { commandsExecutor() {} })
  const old = new Proxy(added, { has: (of, name) => name !== 'clientUnblock' && name in of })
  expect(() => redisStore({ client: old })).toThrow(/node-redis 4.*redis@6/)
})

test('clients of ioredis 4 are warned of, once', async () => {
  const warnings: Error[] = []
  const listen = (warning: Error): void => void warnings.push(warning)
  process.on('warning', listen)
  after(() => void process.off('warning', listen))
  for (const Library of [Redis5, Redis6 as unknown as typeof Redis5]) {
    const client = new Library({ lazyConnect: true })
    redisStore({ client })
    redisStore({ client: new Library.Cluster([{ port: 1 }], { lazyConnect: true }) })
  }
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toEqual([])
  for (let times = 0; times < 2; times += 1) {
    // As version 4 has it from 4.19 on.
    const old = Object.assign(new Redis5({ lazyConnect: true }), { _addedScriptHashes: {} })
    redisStore({ client: old })
  }
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toMatchObject([{ name: 'HoldfastWarning', code: 'HOLDFAST_IOREDIS_4' }])
})

function openWithSentinels(options: object): void {
  const sentinels = [{ host: '127.0.0.1', port: 1 }]
  redisStore({ client: new Redis6({ sentinels, name: 'primary', lazyConnect: true, ...options }) })
}

test('a client with Sentinels that does not look for failovers is warned of, once', async () => {
  const warnings: Error[] = []
  const listen = (warning: Error): void => void warnings.push(warning)
  process.on('warning', listen)
  after(() => void process.off('warning', listen))
  openWithSentinels({ failoverDetector: true })
  redisStore({ client: new Redis6({ lazyConnect: true }) })
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toEqual([])
  openWithSentinels({})
  openWithSentinels({})
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toMatchObject([{ name: 'HoldfastWarning', code: 'HOLDFAST_FAILOVER_DETECTOR' }])
})

test('stores of different prefixes do not know of each other', async () => {
  const server = await startServer()
  const stores = ['hf', 'hf:hf', 'app.locks'].map((prefix) =>
    openStore(server, 'ioredis6', { prefix }),
  )
  for (const store of stores) await take(store, makeClaim('lock'))
  for (const store of stores) {
    expect((await store.attempt(makeClaim('lock'), TRY)).outcome).toBe('busy')
    expect((await inspectPage(store, { prefix: '', limit: 10 })).locks).toHaveLength(1)
  }
})

test('a mocked client is refused, with the store that serves instead', () => {
  const mocked = {
    status: 'ready',
    set: async () => 'OK',
    get: async () => null,
    on: () => undefined,
  }
  const client = mocked as unknown as RedisClient
  expect(() => redisStore({ client })).toThrow(LockUsageError)
  expect(() => redisStore({ client })).toThrow(/memoryStore\(\)/)
})
