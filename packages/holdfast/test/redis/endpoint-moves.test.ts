/**
 * One address whose server is replaced: the old one stays connected, refuses writes, and never
 * hangs up.
 */
import { createLocks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import { openStore as openUrl } from 'holdfast/url'
import { expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { Proxy } from '@holdfast/servers/proxy'
import type { RedisServer } from '@holdfast/servers/redis'
import {
  after,
  connectTo,
  LIBRARIES,
  makeClaim,
  openStore,
  startServer,
  take,
  TRY,
} from './support/world.js'

const TTL_MS = 3000
const AT_ONCE = { config: [['repl-diskless-sync-delay', '0']] as const }

interface Endpoint {
  readonly url: string
  readonly old: RedisServer
  readonly next: RedisServer
  /** Lets the replica take over. What is connected stays connected to the old server. */
  move(): Promise<void>
}

async function startEndpoint(): Promise<Endpoint> {
  const [old, next] = await Promise.all([startServer(AT_ONCE), startServer(AT_ONCE)])
  await next.command('REPLICAOF', '127.0.0.1', String(old.port))
  await eventually('the replica follows', async () =>
    (await next.command('INFO', 'replication')).includes('master_link_status:up'),
  )
  const proxy = await Proxy.to(old.port)
  after(() => proxy.close())
  return {
    url: `redis://127.0.0.1:${proxy.port}`,
    old,
    next,
    async move() {
      await eventually(
        'the replica has all of it',
        async () => (await offsetOf(next)) === (await offsetOf(old)),
      )
      await next.command('REPLICAOF', 'NO', 'ONE')
      proxy.target = next.port
      // Read-only from now on.
      await old.command('REPLICAOF', '127.0.0.1', String(next.port))
    },
  }
}

async function offsetOf(server: RedisServer): Promise<string | undefined> {
  const info = await server.command('INFO', 'replication')
  return /master_repl_offset:(\d+)/.exec(info)?.[1]
}

/** Lets a lease and a waiter live through the move of the endpoint. */
async function liveThroughMove(endpoint: Endpoint, stores: readonly [Store, Store]): Promise<void> {
  const [one, two] = stores.map((store) => createLocks(store, { ttlMs: TTL_MS }))
  if (!one || !two) throw new Error('Two clients are needed.')
  after(() => Promise.all([one.close(), two.close()]))
  const lease = await one.mutex('lock').acquire()
  const waiting = two.mutex('lock').acquire()
  await eventually('it waits', async () => (await one.mutex('lock').inspect()).waiters.length === 1)
  const startMs = performance.now()
  await endpoint.move()
  await eventually('new callers get locks', () =>
    one
      .mutex('other')
      .tryAcquire()
      .then(
        async (got) => (await got?.release()) === 'released',
        () => false,
      ),
  )
  // Longer than the lease lasts without renewals.
  await eventually('its TTL is over', () => performance.now() - startMs > TTL_MS)
  expect(lease.held).toBe(true)
  expect(await lease.release()).toBe('released')
  const next = await waiting
  expect(next.token).toBeGreaterThan(lease.token)
  expect(await next.release()).toBe('released')
}

test.each(LIBRARIES)(
  'leases, waiters and new callers of %s follow an endpoint that moves',
  async (library) => {
    const endpoint = await startEndpoint()
    const clients = [connectTo(endpoint.url, library), connectTo(endpoint.url, library)] as const
    await liveThroughMove(endpoint, [
      redisStore({ client: clients[0] }),
      redisStore({ client: clients[1] }),
    ])
    // The client of the caller was left alone.
    const list = await endpoint.old.command('CLIENT', 'LIST', 'TYPE', 'normal')
    expect(list.match(/laddr=/g)?.length).toBeGreaterThanOrEqual(3)
  },
)

test('the clients of a URL follow an endpoint that moves', async () => {
  const endpoint = await startEndpoint()
  const stores = [await openUrl(endpoint.url), await openUrl(endpoint.url)] as const
  await liveThroughMove(endpoint, stores)
  const list = await endpoint.old.command('CLIENT', 'LIST', 'TYPE', 'normal')
  // No client is left there but the one that asks.
  expect(list.match(/laddr=/g)?.length).toBe(1)
})

test.each(LIBRARIES)(
  'client of %s that connects again by itself is used again, and the store opens no other',
  async (library) => {
    const endpoint = await startEndpoint()
    const store = openStore({ url: endpoint.url }, library)
    const works = (): Promise<boolean> =>
      Promise.resolve(store.attempt(makeClaim('lock', { ttlMs: 50 }), TRY)).then(
        () => true,
        () => false,
      )
    await eventually('it writes', works)
    await endpoint.move()
    await eventually('it writes again', works)
    await endpoint.old.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await eventually('it writes through one connection', async () => {
      if (!(await works())) return false
      const list = await endpoint.next.command('CLIENT', 'LIST', 'TYPE', 'normal')
      // And the one that asks.
      return list.match(/laddr=/g)?.length === 2
    })
  },
)

test('renewal by a server that lost its data and became a replica is unknown', async () => {
  const [server, empty] = [await startServer(AT_ONCE), await startServer(AT_ONCE)]
  const store = openStore(server)
  const claim = makeClaim('lock')
  await take(store, claim)
  await server.command('REPLICAOF', '127.0.0.1', String(empty.port))
  await eventually('its data are gone', async () => (await server.command('DBSIZE')) === ':0\r\n')
  expect(await store.renew([claim])).toMatchObject([{ outcome: 'unknown' }])
})

test.each(LIBRARIES)(
  'URL of a replica rejects at once with STORE_CONFIG, through %s',
  async (library) => {
    const endpoint = await startEndpoint()
    await endpoint.move()
    const locks = createLocks(openStore(endpoint.old, library))
    await expect(locks.mutex('lock').acquire()).rejects.toMatchObject({
      code: 'STORE_CONFIG',
      message: expect.stringContaining('connect it to the primary') as string,
    })
    await locks.close()
  },
)

test.each(LIBRARIES)(
  'store that opens before the address leads elsewhere works afterwards, through %s',
  async (library) => {
    const endpoint = await startEndpoint()
    await endpoint.move()
    const proxy = await Proxy.to(endpoint.old.port)
    after(() => proxy.close())
    const locks = createLocks(openStore({ url: `redis://127.0.0.1:${proxy.port}` }, library))
    after(() => locks.close())
    const works = async (): Promise<boolean> =>
      locks
        .mutex('lock')
        .acquire()
        .then(
          (lease) => lease.release().then(() => true),
          () => false,
        )
    expect(await works()).toBe(false)
    proxy.target = endpoint.next.port
    await eventually('it writes', works)
  },
)
