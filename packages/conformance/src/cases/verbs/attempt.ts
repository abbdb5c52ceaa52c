/** Attempts: the answers of a free and of a busy lock, and repeated attempts. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectOutcome, tokenOf } from '../../expect.js'
import { leaseExpiry, queue, semaphore, tokenBlocks } from '../../needs.js'

export const attempt = new Group('attempt')

attempt.test('a free lock is granted at once, for the TTL of the claim', async (context) => {
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

attempt.test(
  'a claim that weighs more than its lock takes is not granted',
  async (context) => {
    const heavy = context.claim({ kind: 'semaphore', capacity: 2, weight: 3 })
    const result = await context.store.attempt(heavy, { enqueue: false, tokens: 1 })
    assert.equal(result.outcome, 'busy')
  },
  { needs: [semaphore] },
)

attempt.test('a busy answer leaves nothing in the store', async (context) => {
  const [holder, refused, next] = [context.claim(), context.claim(), context.claim()]
  await context.take(holder)
  expectOutcome(await context.store.attempt(refused, { enqueue: false, tokens: 1 }), 'busy')
  await context.withdraw(holder)
  await context.take(next)
  assert.equal(await context.withdraw(refused), 'absent')
})

attempt.test(
  'a claim that queues for a held lock waits, and leaves the queue when it is withdrawn',
  async (context) => {
    const waiter = context.claim()
    await context.take(context.claim())
    await context.queue(waiter)
    assert.equal(await context.withdraw(waiter), 'left')
  },
  { needs: [queue] },
)

attempt.test('a repeated attempt returns the same lease', async (context) => {
  const claim = context.claim()
  const first = await context.take(claim)
  const again = await context.take(claim)
  assert.equal(again.alreadyGranted, true)
  assert.equal(again.token, first.token)
  assert.ok(again.remainingMs <= first.remainingMs, 'a repeated attempt moved the end of the lease')
  assert.equal(await context.withdraw(claim), 'released')
  // A store that counts holds would keep the lock after one release.
  await context.take(context.claim())
})

attempt.test('two attempts of one claim, sent together, are one lease', async (context) => {
  const claim = context.claim()
  const [first, second] = await Promise.all([context.take(claim), context.take(claim)])
  assert.equal(first.token, second.token)
  assert.notEqual(
    first.alreadyGranted,
    second.alreadyGranted,
    'exactly one of the two must have made the grant',
  )
})

attempt.test(
  'a repeated attempt has one place in the queue',
  async (context) => {
    const [holder, waiter] = [context.claim(), context.claim()]
    await context.take(holder)
    for (let times = 0; times < 3; times += 1) await context.queue(waiter)
    assert.equal((await context.inspect())?.waiters.length, 1)
  },
  { needs: [queue] },
)

attempt.test(
  'a repeated attempt does not extend the lease',
  async (context) => {
    const claim = context.claim({ ttlMs: context.shortMs })
    const askedMs = context.time.nowMs()
    const { token } = await context.take(claim)
    const grantedMs = context.time.nowMs()
    await context.time.pass(context.shortMs / 2)
    // The store answers after this and granted before that, so a slow machine changes nothing.
    const resentMs = context.time.nowMs()
    const { remainingMs, token: resentToken } = await resend(context, claim)
    // 50 ms for stores that count in whole units.
    const lastedMs = resentMs + remainingMs - grantedMs
    // On a very busy machine the lease has ended by then, and the store may grant another one.
    const mayBeOver = context.time.nowMs() - askedMs >= context.shortMs
    if (resentToken === token || !mayBeOver)
      assert.ok(lastedMs <= context.shortMs + 50, `ends ${lastedMs} ms after the grant`)
    await context.granted(context.claim(), remainingMs + context.slackMs)
  },
  { needs: [leaseExpiry] },
)

/** Repeats the attempt. Where the lease has ended by then, 0 ms may remain. */
async function resend(
  context: Context,
  claim: Parameters<Context['attempt']>[0],
): Promise<{ remainingMs: number; token?: bigint }> {
  const result = await context.attempt(claim)
  return result.outcome === 'granted' ? result : { remainingMs: 0 }
}

attempt.test(
  'a grant reserves as many tokens as the attempt asked for',
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
  { needs: [tokenBlocks] },
)

attempt.test('locks of different names are independent', async (context) => {
  await context.take(context.claim({ lock: context.name('one') }))
  await context.take(context.claim({ lock: context.name('two') }))
})

attempt.test('one of many attempts sent together is granted', async (context) => {
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
