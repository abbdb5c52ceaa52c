/** Expiry: a lease without renewal ends after its TTL, not earlier and not much later. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { tokenOf } from '../../expect.js'
import { leaseExpiry, queue, semaphore } from '../../needs.js'

export const expiry = new Group('expiry', [leaseExpiry])

expiry.test('an expired lease lets the next claim in', async (context) => {
  await context.take(context.claim({ ttlMs: context.shortMs }))
  await context.granted(context.claim(), context.shortMs + context.slackMs)
})

expiry.test('a lease does not end before its TTL', async (context) => {
  const sentMs = context.time.nowMs()
  await context.take(context.claim({ ttlMs: context.shortMs }))
  await context.granted(context.claim(), context.shortMs + context.slackMs)
  const tookMs = context.time.nowMs() - sentMs
  // The clocks may differ by the margin of a holder's deadline.
  assert.ok(tookMs >= context.shortMs * 0.99 - 2, `the lock was free after ${tookMs} ms`)
})

expiry.test(
  'a waiter is granted when the lease before it ends, and stays first in the queue until then',
  async (context) => {
    const [waiter, later] = [context.claim(), context.claim()]
    await context.take(context.claim({ ttlMs: context.shortMs }))
    await context.queue(waiter)
    await context.queue(later)
    await context.granted(waiter, context.shortMs + context.slackMs)
    assert.equal((await context.attempt(later)).outcome, 'waiting')
  },
  { needs: [queue] },
)

expiry.test(
  'the remaining time in a waiting answer is at most the TTL of the lease before it',
  async (context) => {
    await context.take(context.claim({ ttlMs: context.shortMs }))
    const result = await context.attempt(context.claim())
    assert.equal(result.outcome, 'waiting')
    const { holderRemainingMs } = result as { holderRemainingMs?: number }
    if (holderRemainingMs === undefined) return
    assert.ok(
      holderRemainingMs >= 0 && holderRemainingMs <= context.shortMs,
      `the answer was ${holderRemainingMs} ms`,
    )
  },
  { needs: [queue] },
)

expiry.test(
  'only the expired one of several holders makes room',
  async (context) => {
    const shape = { kind: 'semaphore', capacity: 2 } as const
    const lasting = context.claim(shape)
    await context.take(lasting)
    await context.take(context.claim({ ...shape, ttlMs: context.shortMs }))
    await context.granted(context.claim(shape), context.shortMs + context.slackMs)
    const { outcome } = await context.store.attempt(context.claim(shape), {
      enqueue: false,
      tokens: 1,
    })
    assert.equal(outcome, 'busy')
    assert.equal(await context.withdraw(lasting), 'released')
  },
  { needs: [semaphore] },
)

expiry.test('the holder after an expired lease has a larger token', async (context) => {
  const first = await context.take(context.claim({ ttlMs: context.shortMs }))
  const second = await context.granted(context.claim(), context.shortMs + context.slackMs)
  assert.ok(tokenOf(second) > tokenOf(first))
})
