/** Seals: the token that a client of several servers chose, as one server takes or refuses it. */
import { expect, test } from 'vitest'
import { requestsOf } from '../../dist/stores/redis/verbs/requests.js'
import { RedisVoter } from '../../dist/stores/redlock/nodes/redis-voter.js'
import { clockedClient } from './support/clocked.js'
import { closing, connectTo, makeClaim, startServer, take, TRY } from './support/world.js'

const LOCK = 'order:1'
const START_MS = 1_900_000_000_000
const START_TOKEN = BigInt(START_MS) * 1000n
const KEEP_MS = 60_000
const READER = { kind: 'readWriteLock', weight: 1 } as const

/** A server whose clock the test sets, its store, and the milliseconds that its key lives. */
async function openNode() {
  const server = await startServer()
  const inner = connectTo(server.url) as Parameters<typeof clockedClient>[0]
  const { client, setTime } = clockedClient(inner)
  await setTime(START_MS)
  const store = closing(new RedisVoter(requestsOf({ client })))
  const livesMs = async () => Number(await inner.call('PTTL', `hf:{${LOCK}}`))
  return { store, setTime, livesMs }
}

async function lastTokenOf(store: RedisVoter): Promise<bigint | undefined> {
  return (await store.inspect([LOCK]))[0]?.lastToken
}

test.each([
  ['mutex', {}],
  ['reader', READER],
])('%s seals a larger token, and keeps it when it asks again', async (_, changes) => {
  const { store } = await openNode()
  const claim = makeClaim(LOCK, changes)
  expect((await take(store, claim)).token).toBe(START_TOKEN)
  expect(await store.seal(claim, START_TOKEN)).toEqual({ outcome: 'sealed' })
  expect(await store.seal(claim, START_TOKEN + 5n)).toEqual({ outcome: 'sealed' })
  expect(await store.seal(claim, START_TOKEN + 5n)).toEqual({ outcome: 'sealed' })
  expect(await store.attempt(claim, TRY)).toMatchObject({
    alreadyGranted: true,
    token: START_TOKEN + 5n,
  })
  expect(await store.withdraw(claim)).toBe('released')
  expect((await take(store, makeClaim(LOCK))).token).toBe(START_TOKEN + 6n)
})

test('token that another claim may have is refused, with the last token', async () => {
  const { store } = await openNode()
  const [one, two] = [makeClaim(LOCK, READER), makeClaim(LOCK, READER)]
  await take(store, one)
  expect((await take(store, two)).token).toBe(START_TOKEN + 1n)
  const behind = { outcome: 'behind', lastToken: START_TOKEN + 1n }
  expect(await store.seal(one, START_TOKEN + 1n)).toEqual(behind)
  expect(await store.seal(one, START_TOKEN + 2n)).toEqual({ outcome: 'sealed' })
  expect(await store.seal(two, START_TOKEN + 2n)).toMatchObject({ outcome: 'behind' })
  // Its own token, though the last one is larger.
  expect(await store.seal(two, START_TOKEN + 1n)).toEqual({ outcome: 'sealed' })
  expect(await lastTokenOf(store)).toBe(START_TOKEN + 2n)
})

test('claim that does not hold the lock seals nothing, and raises nothing', async () => {
  const { store } = await openNode()
  const [former, holder] = [makeClaim(LOCK), makeClaim(LOCK)]
  await take(store, former)
  expect(await store.withdraw(former)).toBe('released')
  expect(await store.seal(former, START_TOKEN + 9n)).toEqual({ outcome: 'lost', reason: 'expired' })
  await take(store, holder)
  expect(await store.seal(former, START_TOKEN + 9n)).toEqual({ outcome: 'lost', reason: 'expired' })
  expect(await lastTokenOf(store)).toBe(START_TOKEN + 1n)
  await store.steal(LOCK, { now: false })
  expect(await store.seal(holder, START_TOKEN + 9n)).toEqual({ outcome: 'lost', reason: 'stolen' })
})

test.each([
  ['mutex', {}],
  ['reader', READER],
])('%s: key lives until the clock has passed the token by a minute', async (_, changes) => {
  const { store, setTime, livesMs } = await openNode()
  const aheadMs = 100_000
  const token = START_TOKEN + BigInt(aheadMs) * 1000n
  const claim = makeClaim(LOCK, { ...changes, ttlMs: 1000 })
  await take(store, claim)
  expect(await store.seal(claim, token)).toEqual({ outcome: 'sealed' })
  const neededMs = aheadMs + KEEP_MS
  expect(await livesMs()).toBeGreaterThan(neededMs - 5000)
  expect(await store.withdraw(claim)).toBe('released')
  expect(await livesMs()).toBeGreaterThan(neededMs - 5000)
  await setTime(START_MS + neededMs - 10_000)
  const next = makeClaim(LOCK, { ...changes, ttlMs: 1000 })
  expect((await take(store, next)).token).toBeGreaterThan(token)
})

test('renewal brings the token to a server that missed the seal', async () => {
  const { store } = await openNode()
  const claim = makeClaim(LOCK)
  await take(store, claim)
  const token = START_TOKEN + 7n
  expect(await store.renew([{ ...claim, token }])).toEqual([{ outcome: 'renewed' }])
  expect(await store.attempt(claim, TRY)).toMatchObject({ alreadyGranted: true, token })
  // A smaller one does not lower what the next claim gets.
  expect(await store.renew([{ ...claim, token: token - 3n }])).toEqual([{ outcome: 'renewed' }])
  expect(await store.withdraw(claim)).toBe('released')
  expect((await take(store, makeClaim(LOCK))).token).toBe(token + 1n)
})
