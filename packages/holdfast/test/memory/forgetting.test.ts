/** Unused locks are forgotten, however their leases ended. */
import { randomUUID } from 'node:crypto'
import { VirtualClock } from 'holdfast/testing'
import { memoryStore } from 'holdfast/memory'
import type { Store } from 'holdfast/store'
import { expect, test } from 'vitest'
import { makeClaim } from '../../../../test/support/claims.js'
import { remaining } from '../support/garbage.js'

const TTL_MS = 1000
const SHORT = { ttlMs: TTL_MS, heartbeatMs: 500 }

test('leases that ran out unreleased leave nothing behind', async () => {
  const clock = new VirtualClock()
  const store = memoryStore({ clock })
  const owners = await takeMany(store, 3000)
  await clock.advance(TTL_MS)
  await takeMany(store, 1500)
  expect(remaining(owners)).toBeLessThan(100)
})

test('waiters of a lock that is looked at are served in the same way as by a call', async () => {
  const clock = new VirtualClock()
  const store = memoryStore({ clock })
  const held = makeClaim('a', SHORT)
  const first = await store.attempt(held, { enqueue: false, tokens: 1 })
  const waiter = makeClaim('a', SHORT)
  const tokens: (bigint | undefined)[] = []
  store.watch(waiter, (grant) => tokens.push(grant?.token))
  expect(await store.attempt(waiter, { enqueue: true, tokens: 1 })).toMatchObject({
    outcome: 'waiting',
  })
  await clock.advance(TTL_MS)
  await takeMany(store, 1500)
  expect(tokens).toHaveLength(1)
  expect(tokens[0]).toBeGreaterThan(first.outcome === 'granted' ? (first.token ?? 0n) : 0n)
  const again = await store.attempt(waiter, { enqueue: true, tokens: 1 })
  expect(again).toMatchObject({ outcome: 'granted', token: tokens[0], alreadyGranted: true })
})

/** Takes locks of as many names. An owner lives as long as the store remembers its lease. */
async function takeMany(store: Store, count: number): Promise<readonly WeakRef<object>[]> {
  const owners: WeakRef<object>[] = []
  for (let index = 0; index < count; index += 1) {
    const claim = makeClaim(randomUUID(), SHORT)
    await store.attempt(claim, { enqueue: false, tokens: 1 })
    owners.push(new WeakRef(claim.owner))
  }
  return owners
}
