/** Replies that are numbers, which some clients return as text. */
import { startRedis } from '@holdfast/servers/redis'
import { Redis } from 'ioredis6'
import { redisStore } from 'holdfast/redis'
import { afterAll, expect, test } from 'vitest'
import { makeClaim } from '../../../../test/support/claims.js'

const server = await startRedis()
afterAll(() => server.stop())

test.each([
  ['numbers', {}],
  ['text', { stringNumbers: true }],
])('an attempt and a release alone in their calls, with %s', async (_, options) => {
  const client = new Redis(server.port, options)
  const store = redisStore({ client })
  const held = makeClaim(`answered with ${_}`)
  const beforeMicros = BigInt(Date.now()) * 1000n
  const granted = await store.attempt(held, { enqueue: true, tokens: 1 })
  expect(granted).toMatchObject({ outcome: 'granted', alreadyGranted: false, tokens: 1 })
  if (granted.outcome === 'granted') expect(granted.token).toBeGreaterThan(beforeMicros - 10n ** 9n)
  expect(await store.withdraw(held)).toBe('released')
  expect(await store.withdraw(makeClaim('never held'))).toBe('absent')
  await store.close()
  client.disconnect()
})

test('each attempt of a claim in flight is answered, and one beside its withdrawal is withdrawn', async () => {
  const client = new Redis(server.port)
  const store = redisStore({ client })
  const held = makeClaim('twice')
  const attempts = [1, 2, 3].map(async () => store.attempt(held, { enqueue: true, tokens: 1 }))
  expect(await Promise.all(attempts)).toMatchObject(
    attempts.map((_, index) => ({ outcome: 'granted', alreadyGranted: index > 0 })),
  )
  expect(await store.withdraw(held)).toBe('released')
  // Its own attempt in the same tick comes after the withdrawal, which it must not survive.
  const [late] = await Promise.all([
    store.attempt(held, { enqueue: true, tokens: 1 }),
    store.withdraw(held),
  ])
  expect(late.outcome).toBe('withdrawn')
  await store.close()
  client.disconnect()
})
