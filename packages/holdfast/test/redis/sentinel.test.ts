/** A primary behind Sentinels, through each client library, before and after it was replaced. */
import { redisStore } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import { expect, test } from 'vitest'
import { openAny, openSentinelClient } from '@holdfast/servers/redis-clients'
import { freePorts } from '@holdfast/servers/ports'
import { eventually } from '@holdfast/servers/eventually'
import {
  after,
  closing,
  LIBRARIES,
  makeClaim,
  openStoreOn,
  QUEUE,
  startTestSentinels,
  take,
  TRY,
  whereIs,
  type Library,
} from './support/world.js'

/** Hands a lock on by a message: no waiter asks for a minute. */
async function handOn(one: Store, two: Store, lock: string): Promise<bigint> {
  const [holder, waiter] = [makeClaim(lock), makeClaim(lock, { heartbeatMs: 60_000 })]
  await take(one, holder)
  expect((await two.attempt(waiter, QUEUE)).outcome).toBe('waiting')
  let pushed: bigint | undefined
  const watch = two.watch(waiter, (grant) => (pushed ??= grant?.token))
  await watch.ready
  expect(await one.withdraw(holder)).toBe('released')
  await eventually(`the grant of ${lock}`, () => pushed !== undefined)
  watch.close()
  expect(await two.withdraw(waiter)).toBe('released')
  return pushed ?? 0n
}

test('locks are handed on by messages before and after a failover, and by a client that stays open', async () => {
  const group = await startTestSentinels()
  const worlds = await Promise.all(
    LIBRARIES.map(async (library: Library) => {
      const opened = openAny(library, whereIs(group))
      after(() => opened.end())
      await opened.ready
      const stores = [
        await openStoreOn(group, library),
        redisStore({ client: opened.client }),
      ] as const
      return { library, client: opened.client, stores }
    }),
  )
  const tokens = new Map<Library, bigint>()
  for (const { library, stores } of worlds) tokens.set(library, await handOn(...stores, library))

  const primary = await group.primary()
  await primary.kill()
  const next = await group.untilReplaced(primary)
  for (const { library, stores } of worlds) {
    const ready = (store: Store): Promise<boolean> =>
      Promise.resolve(store.attempt(makeClaim(`try ${library}`), TRY)).then(Boolean, () => false)
    for (const store of stores)
      await eventually(`${library} follows`, () => ready(store), { withinMs: 30_000 })
    const channels = async (): Promise<number> =>
      (await next.command('PUBSUB', 'CHANNELS', 'hf:*'))
        .split('\r\n')
        .filter((line) => line.startsWith('hf:')).length
    await eventually('the channels are back', async () => (await channels()) === LIBRARIES.length, {
      withinMs: 30_000,
    })
    expect(await handOn(...stores, library)).toBeGreaterThan(tokens.get(library) ?? 0n)
  }
  for (const { library, client, stores } of worlds) {
    await stores[1].close()
    await take(closing(redisStore({ client })), makeClaim(`after ${library}`))
  }
  await eventually(
    'no channel is left',
    async () => !(await next.command('PUBSUB', 'CHANNELS', 'hf:*')).includes('hf:'),
  )
})

test('Sentinels that are not there are reported in time', async () => {
  const ports = await freePorts(2)
  for (const library of LIBRARIES) {
    const { client, end } = openSentinelClient(library, { name: 'locks', ports })
    after(() => end())
    const store = closing(redisStore({ client, requestTimeoutMs: 1500 }))
    const startMs = performance.now()
    const error = await Promise.resolve(store.attempt(makeClaim('lock'), TRY)).catch(
      (caught: unknown) => caught,
    )
    expect(error, library).toMatchObject({
      name: 'StoreUnavailableError',
      code: 'STORE_UNAVAILABLE',
    })
    expect(performance.now() - startMs, library).toBeLessThan(4000)
  }
})
