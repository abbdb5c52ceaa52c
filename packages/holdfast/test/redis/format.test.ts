/**
 * A head that a later version of Holdfast wrote: refused by each verb, also where the fast paths
 * come first, and left as it is.
 */
import { redlockStore } from 'holdfast/redlock'
import { expect, test } from 'vitest'
import {
  closing,
  connectTo,
  makeClaim,
  openStore,
  QUEUE,
  startServer,
  take,
  TRY,
} from './support/world.js'

/** As every later format begins: its byte, its number, and what only that format knows. */
const LATER = Buffer.from([3, 0, 2, 9, 9, 9])
const REFUSED = {
  code: 'STORE_FORMAT',
  message: expect.stringMatching(/format 2.*knows format 1.*Update Holdfast/s) as string,
}

test('each verb refuses a head of a later format, and touches nothing', async () => {
  const server = await startServer()
  const store = openStore(server)
  const client = connectTo(server.url) as unknown as {
    call(...words: (string | Buffer)[]): Promise<unknown>
  }
  const claim = makeClaim('later')
  await client.call('SET', 'hf:{later}', LATER, 'PX', '600000')
  const all = async (): Promise<unknown> => [
    await client.call('KEYS', '*'),
    await client.call('DUMP', 'hf:{later}'),
  ]
  const before = await all()
  const reader = makeClaim('later', { kind: 'readWriteLock', weight: 1 })
  for (const [one, how] of [
    [claim, TRY],
    [claim, QUEUE],
    [reader, QUEUE],
  ] as const) {
    await expect(store.attempt(one, how)).rejects.toMatchObject(REFUSED)
  }
  await expect(store.withdraw(claim)).rejects.toMatchObject(REFUSED)
  await expect(store.downgrade(claim)).rejects.toMatchObject(REFUSED)
  await expect(store.steal('later', { now: true })).rejects.toMatchObject(REFUSED)
  await expect(store.inspect(['later'])).rejects.toMatchObject(REFUSED)
  expect(await store.renew([claim])).toMatchObject([{ outcome: 'unknown', cause: REFUSED }])
  // Beside others in one call, which are done.
  const [refused, granted] = await Promise.allSettled([
    store.attempt(makeClaim('later'), TRY),
    store.attempt(makeClaim('beside'), TRY),
  ])
  expect(refused).toMatchObject({ status: 'rejected', reason: REFUSED })
  expect(granted).toMatchObject({ status: 'fulfilled', value: { outcome: 'granted' } })
  await client.call('DEL', 'hf:{beside}')
  expect(await all()).toEqual(before)
  expect(Number(await client.call('PTTL', 'hf:{later}'))).toBeGreaterThan(500_000)
})

test('a head that becomes one of a later format while the lock is held is not freed', async () => {
  const server = await startServer()
  const store = openStore(server)
  const client = connectTo(server.url) as unknown as {
    call(...words: (string | Buffer)[]): Promise<unknown>
  }
  const claim = makeClaim('upgraded')
  await take(store, claim)
  await client.call('SET', 'hf:{upgraded}', LATER)
  await expect(store.withdraw(claim)).rejects.toMatchObject(REFUSED)
  expect(await client.call('GET', 'hf:{upgraded}')).toBe(LATER.toString('latin1'))
})

test('Redlock reports it when all nodes have a later format', async () => {
  const servers = await Promise.all([1, 2, 3].map(() => startServer()))
  const clients = servers.map(({ url }) => connectTo(url))
  for (const client of clients as unknown as {
    call(...words: (string | Buffer)[]): Promise<unknown>
  }[]) {
    await client.call('SET', 'hf:{later}', LATER)
  }
  const store = closing(redlockStore({ clients }))
  await expect(store.attempt(makeClaim('later'), TRY)).rejects.toMatchObject(REFUSED)
})
