/** Expiry: a dead holder costs its TTL, no more and no less. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { tokenOf } from '../../expect.js'
import { fencing, leaseExpiry, queue, semaphore } from '../../needs.js'

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
  // The clocks may differ by the margin that a holder takes off.
  assert.ok(tookMs >= context.shortMs * 0.99 - 2, `the lock was free after ${tookMs} ms`)
})

expiry.test(
  'a waiter is let in when the lease before it ends, and stays first in the queue',
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
  'a waiter is told when the lease before it ends at the latest',
  async (context) => {
    await context.take(context.claim({ ttlMs: context.shortMs }))
    const result = await context.attempt(context.claim())
    assert.equal(result.outcome, 'waiting')
    const { holderRemainingMs } = result as { holderRemainingMs?: number }
    if (holderRemainingMs === undefined) return
    assert.ok(
      holderRemainingMs >= 0 && holderRemainingMs <= context.shortMs,
      `said ${holderRemainingMs} ms`,
    )
  },
  { needs: [queue] },
)

expiry.test(
  'of several holders only the expired one makes room',
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

expiry.test(
  'the holder after an expired one has a larger token',
  async (context) => {
    const first = await context.take(context.claim({ ttlMs: context.shortMs }))
    const second = await context.granted(context.claim(), context.shortMs + context.slackMs)
    assert.ok(tokenOf(second) > tokenOf(first))
  },
  { needs: [fencing] },
)
