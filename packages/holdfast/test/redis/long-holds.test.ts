/** Locks that are held and renewed far longer than the first TTL of any key: no waiter is lost. */
import { redisStore } from 'holdfast/redis'
import type { Claim } from 'holdfast/store'
import { expect, test } from 'vitest'
import { clockedClient } from './support/clocked.js'
import { closing, connectTo, makeClaim, QUEUE, startServer, take } from './support/world.js'

const START_MS = 1_800_000_000_000
const STEP_MS = 500
const HELD_MS = 200_000

const READERS: Partial<Claim> = { kind: 'readWriteLock', weight: 1 }
const ONE_PERMIT: Partial<Claim> = { kind: 'semaphore', capacity: 1, weight: 1 }
const TWO_PERMITS: Partial<Claim> = { kind: 'semaphore', capacity: 2, weight: 1 }

test.each([
  ['a mutex', [{}], {}],
  ['a writer', [{ kind: 'readWriteLock' as const }], READERS],
  ['readers', [READERS, READERS], {}],
  ['the only permit', [ONE_PERMIT], ONE_PERMIT],
  ['all permits', [TWO_PERMITS, TWO_PERMITS], TWO_PERMITS],
])('waiters behind %s are served in their order', async (_, holding, waiting) => {
  const server = await startServer()
  const inner = connectTo(server.url) as Parameters<typeof clockedClient>[0]
  const { client, setTime } = clockedClient(inner)
  const store = closing(redisStore({ client }))
  const times = { ttlMs: 3000, heartbeatMs: STEP_MS }
  const holders = holding.map((shape) => makeClaim('lock', { ...shape, ...times }))
  const waiters = Array.from({ length: 3 }, () => makeClaim('lock', { ...waiting, ...times }))
  await setTime(START_MS)
  for (const claim of holders) await take(store, claim)
  for (const claim of waiters) expect((await store.attempt(claim, QUEUE)).outcome).toBe('waiting')
  for (let heldMs = STEP_MS; heldMs <= HELD_MS; heldMs += STEP_MS) {
    await setTime(START_MS + heldMs)
    expect(await store.renew(holders)).toEqual(holders.map(() => ({ outcome: 'renewed' })))
    // The last one is heard of first, and would be the first in a new queue.
    for (const claim of waiters.toReversed()) {
      expect(await store.attempt(claim, QUEUE), `after ${heldMs} ms`).toMatchObject({
        outcome: 'waiting',
      })
    }
    const locks = await store.inspect(['lock'])
    const queue = locks[0]?.waiters.map(({ claimId }) => claimId)
    expect(queue, `after ${heldMs} ms`).toEqual(waiters.map(({ id }) => id))
  }
})
