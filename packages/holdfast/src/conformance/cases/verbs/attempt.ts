/**
 * Attempts: what a free lock and a busy one answer, and what a repeated attempt does not change.
 */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectOutcome, tokenOf } from '../../expect.js'
import { fencing, inspect, leaseExpiry, queue, tokenBlocks } from '../../needs.js'

export const attempt = new Group('attempt')

attempt.test('a free lock is granted at once, for the TTL that was asked for', async (context) => {
  const claim = context.claim()
  const granted = await context.take(claim)
  assert.equal(granted.alreadyGranted, false)
  assert.equal(granted.ttlMs, claim.ttlMs)
  assert.ok(
    granted.remainingMs > 0 && granted.remainingMs <= claim.ttlMs,
    `remaining: ${granted.remainingMs}`,
  )
})

attempt.test('a held lock is busy for a claim that does not queue', async (context) => {
  await context.take(context.claim())
  const other = await context.open()
  const result = await other.attempt(context.claim(), { enqueue: false, tokens: 1 })
  assert.equal(result.outcome, 'busy')
})

attempt.test('a busy answer leaves nothing behind', async (context) => {
  const [holder, refused, next] = [context.claim(), context.claim(), context.claim()]
  await context.take(holder)
  expectOutcome(await context.store.attempt(refused, { enqueue: false, tokens: 1 }), 'busy')
  await context.withdraw(holder)
  await context.take(next)
  assert.equal(await context.withdraw(refused), 'absent')
})

attempt.test(
  'a held lock lets a claim wait, which then holds nothing',
  async (context) => {
    const waiter = context.claim()
    await context.take(context.claim())
    await context.queue(waiter)
    assert.equal(await context.withdraw(waiter), 'left')
  },
  { needs: [queue] },
)

attempt.test('the same claim id twice gives the same lease', async (context) => {
  const claim = context.claim()
  const first = await context.take(claim)
  const again = await context.take(claim)
  assert.equal(again.alreadyGranted, true)
  assert.equal(again.token, first.token)
  assert.ok(again.remainingMs <= first.remainingMs, 'the end of a lease does not move')
  assert.equal(await context.withdraw(claim), 'released')
  // A count of holds would keep the lock after one release.
  await context.take(context.claim())
})

attempt.test('two attempts of one claim in flight together are one lease', async (context) => {
  const claim = context.claim()
  const [first, second] = await Promise.all([context.take(claim), context.take(claim)])
  assert.equal(first.token, second.token)
  assert.notEqual(first.alreadyGranted, second.alreadyGranted, 'one of the two made the grant')
})

attempt.test(
  'the same claim id twice stands in the queue once',
  async (context) => {
    const [holder, waiter] = [context.claim(), context.claim()]
    await context.take(holder)
    for (let times = 0; times < 3; times += 1) await context.queue(waiter)
    assert.equal((await context.inspect())?.waiters.length, 1)
  },
  { needs: [queue, inspect] },
)

attempt.test(
  'a resent attempt does not lengthen the lease',
  async (context) => {
    const claim = context.claim({ ttlMs: context.shortMs })
    const sentMs = context.time.nowMs()
    await context.take(claim)
    await context.time.pass(context.shortMs / 2)
    const { remainingMs } = await resend(context, claim)
    const endMs = context.time.nowMs() + remainingMs
    // Half a tenth of a second for stores that count in whole units, and a reply that was slow the
    // first time.
    assert.ok(
      endMs - sentMs <= context.shortMs + 50 + context.shortMs / 4,
      `ends after ${endMs - sentMs} ms`,
    )
    await context.granted(context.claim(), remainingMs + context.slackMs)
  },
  { needs: [leaseExpiry] },
)

/**
 * On a very busy machine the lease is over before it can be resent; then there is nothing left of
 * it.
 */
async function resend(
  context: Context,
  claim: Parameters<Context['attempt']>[0],
): Promise<{ remainingMs: number }> {
  const result = await context.attempt(claim)
  return result.outcome === 'granted' ? result : { remainingMs: 0 }
}

attempt.test(
  'a grant reserves as many tokens as were asked for',
  async (context) => {
    const [first, second] = [context.claim(), context.claim()]
    const block = expectOutcome(
      await context.store.attempt(first, { enqueue: true, tokens: 32 }),
      'granted',
    )
    assert.equal(block.tokens, 32)
    await context.withdraw(first)
    const next = await context.take(second)
    assert.ok(
      tokenOf(next) >= tokenOf(block) + 32n,
      `${next.token} is inside the block from ${block.token}`,
    )
  },
  { needs: [tokenBlocks, fencing] },
)

attempt.test('locks of different names do not know of each other', async (context) => {
  await context.take(context.claim({ lock: context.name('one') }))
  await context.take(context.claim({ lock: context.name('two') }))
})

attempt.test('of many that attempt together one is granted', async (context) => {
  const stores = await Promise.all(Array.from({ length: 4 }, () => context.open()))
  const attempts = Array.from({ length: 20 }, async (_, index) => {
    const store = stores[index % stores.length] ?? context.store
    return store.attempt(context.claim(), { enqueue: false, tokens: 1 })
  })
  const outcomes = (await Promise.all(attempts)).map(({ outcome }) => outcome)
  assert.deepEqual(
    outcomes.filter((outcome) => outcome !== 'busy'),
    ['granted'],
  )
})
