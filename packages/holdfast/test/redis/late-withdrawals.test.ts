/** Attempts that a client library keeps, and sends when their callers have given up. */
import { redisStore } from 'holdfast/redis'
import { expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { openAny } from '@holdfast/servers/redis-clients'
import { Proxy } from '@holdfast/servers/proxy'
import { isFull } from '../../../../test/support/plan.js'
import {
  after,
  connectTo,
  LIBRARIES,
  makeClaim,
  openStore,
  QUEUE,
  startServer,
  startTestSentinels,
  take,
  TRY,
  whereIs,
} from './support/world.js'

/** How long a client library may take to send what it kept. */
const SETTLED_MS = 300

test.each(LIBRARIES)(
  'attempt that %s sends after its store was closed holds nothing',
  async (library) => {
    const server = await startServer()
    const proxy = await Proxy.to(server.port)
    after(() => proxy.close())
    const client = connectTo(`redis://127.0.0.1:${proxy.port}`, library)
    const store = redisStore({ client })
    await take(store, makeClaim('warm'))
    proxy.faults.dropRequests = true
    const claim = makeClaim('lock', { ttlMs: 60_000 })
    const attempt = Promise.resolve(store.attempt(claim, TRY)).catch((error: unknown) => error)
    proxy.faults.refuse = true
    proxy.reset()
    expect(await attempt).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(store.withdraw(claim)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await store.close()
    proxy.heal()
    const other = openStore(server)
    const before = proxy.packets
    await eventually('the client is back', () => proxy.packets > before)
    await new Promise((resolve) => setTimeout(resolve, SETTLED_MS))
    expect((await other.attempt(makeClaim('lock'), TRY)).outcome).toBe('granted')
  },
)

test('attempt that is kept longer than its TTL holds nothing', async () => {
  const server = await startServer()
  const proxy = await Proxy.to(server.port)
  after(() => proxy.close())
  const store = openStore({ url: `redis://127.0.0.1:${proxy.port}` })
  await take(store, makeClaim('warm'))
  proxy.faults.refuse = true
  proxy.reset()
  const claim = makeClaim('lock', { ttlMs: 5000 })
  await expect(store.attempt(claim, QUEUE)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  // The runtime withdraws for one TTL.
  await expect(store.withdraw(claim)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  proxy.heal()
  const other = openStore(server)
  await eventually('the client is back', async () => (await server.command('DBSIZE')) !== ':1\r\n')
  await new Promise((resolve) => setTimeout(resolve, SETTLED_MS))
  expect((await other.attempt(makeClaim('lock'), TRY)).outcome).toBe('granted')
})

test.skipIf(!isFull())(
  'attempt that is kept through a failover by Sentinels holds nothing',
  async () => {
    for (const library of LIBRARIES) {
      const group = await startTestSentinels()
      const opened = openAny(library, whereIs(group))
      after(() => opened.end())
      await opened.ready
      const store = redisStore({ client: opened.client, requestTimeoutMs: 300 })
      await take(store, makeClaim('warm'))
      const primary = await group.primary()
      await primary.kill()
      const claim = makeClaim('lock', { ttlMs: 60_000 })
      await expect(store.attempt(claim, TRY)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      await Promise.resolve(store.withdraw(claim)).catch(() => undefined)
      await store.close()
      const next = await group.untilReplaced(primary)
      const again = redisStore({ client: opened.client })
      await eventually(`${library} follows`, () =>
        Promise.resolve(again.attempt(makeClaim('try'), TRY)).then(Boolean, () => false),
      )
      await new Promise((resolve) => setTimeout(resolve, SETTLED_MS))
      const other = openStore(next)
      expect((await other.attempt(makeClaim('lock'), TRY)).outcome, library).toBe('granted')
      await again.close()
    }
  },
  60_000,
)
