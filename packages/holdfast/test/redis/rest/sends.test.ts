/** Each request over HTTP leaves once, and one that fails counts as a broken connection. */
import { createLocks } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { isAbout, makeClaim, openOver, startBridge, take, TRY } from './world.js'

test('a first copy that arrives after the release grants nothing', async () => {
  const bridge = await startBridge()
  const [store, other] = [openOver(bridge), openOver(bridge)]
  await take(store, makeClaim('warm'))
  let copies = 0
  bridge.fault = (request) => {
    if (!isAbout(request, 'late')) return undefined
    copies += 1
    return copies === 1 ? { lateMs: 400 } : undefined
  }
  const claim = makeClaim('late', { ttlMs: 20_000 })
  // The store itself has sent it again.
  expect(await store.attempt(claim, TRY)).toMatchObject({ outcome: 'granted' })
  expect(await store.withdraw(claim)).toBe('released')
  await new Promise((resolve) => setTimeout(resolve, 600))
  expect(copies).toBeGreaterThan(1)
  expect(await other.attempt(makeClaim('late'), TRY)).toMatchObject({ outcome: 'granted' })
})

test('a request whose answers are lost is sent four times, and its claim can be withdrawn', async () => {
  const bridge = await startBridge()
  const [store, other] = [openOver(bridge), openOver(bridge)]
  await take(store, makeClaim('warm'))
  let copies = 0
  bridge.fault = (request) => {
    if (!isAbout(request, 'lost')) return undefined
    copies += 1
    return 'lose-answer'
  }
  const claim = makeClaim('lost', { ttlMs: 20_000 })
  await expect(store.attempt(claim, TRY)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(copies).toBe(4)
  bridge.fault = () => undefined
  expect(await other.attempt(makeClaim('lost'), TRY)).toMatchObject({ outcome: 'busy' })
  expect(await store.withdraw(claim)).toBe('released')
  expect(await store.attempt(claim, TRY)).toMatchObject({ outcome: 'withdrawn' })
  expect(await other.attempt(makeClaim('lost'), TRY)).toMatchObject({ outcome: 'granted' })
})

test('a run that does not await its release ends when that has arrived', async () => {
  const bridge = await startBridge()
  const store = openOver(bridge)
  await take(store, makeClaim('warm'))
  let arrived = 0
  bridge.fault = (request) => {
    if (isAbout(request, 'ended')) arrived += 1
    return undefined
  }
  const locks = createLocks(store, { awaitRelease: false })
  await locks.mutex('ended').run(() => undefined)
  expect(arrived).toBe(2)
})

test('a request that is not answered ends in time, and its connection is given up', async () => {
  const bridge = await startBridge()
  const store = openOver(bridge, { requestTimeoutMs: 300 })
  await take(store, makeClaim('warm'))
  let aborted = false
  const hanging = openOver(bridge, {
    requestTimeoutMs: 300,
    fetch: (_url, { signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => {
          aborted = true
          reject(new Error('aborted'))
        })
      }),
  })
  await expect(hanging.attempt(makeClaim('a'), TRY)).rejects.toThrow('No answer within 300 ms')
  await eventually('it was aborted', () => aborted)
})

test('each request has the last sync token, and none is sent together with others', async () => {
  const bridge = await startBridge()
  const locks = createLocks(openOver(bridge))
  await locks.mutex('a').run(() => undefined)
  await Promise.all([locks.mutex('b').run(() => undefined), locks.mutex('c').run(() => undefined)])
  const tokens = bridge.requests.map(({ headers }) => headers['upstash-sync-token'])
  expect(tokens[0]).toBeUndefined()
  expect(tokens.slice(1).every((token) => String(token).startsWith('token-'))).toBe(true)
  expect(bridge.requests.every(({ path }) => path === '/')).toBe(true)
  await locks.close()
})

test('a server that is away for a moment costs an attempt no error', async () => {
  const bridge = await startBridge()
  const store = openOver(bridge)
  await take(store, makeClaim('warm'))
  let refused = 0
  bridge.fault = () => {
    refused += 1
    return refused < 3 ? 'refuse' : undefined
  }
  expect(await store.attempt(makeClaim('a'), TRY)).toMatchObject({ outcome: 'granted' })
})
