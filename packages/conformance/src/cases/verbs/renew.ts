/** Renewals: each extends the lease of its own claim only. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectOutcome } from '../../expect.js'
import { leaseExpiry } from '../../needs.js'

export const renew = new Group('renew')

/**
 * Renews a lease for twice its TTL, and asserts that it is held. Resolves to false where the
 * machine stood still for so long that the lease may have ended between two renewals.
 */
async function staysRenewed(context: Context): Promise<boolean> {
  const ttlMs = context.shortMs * 2
  const claim = context.claim({ ttlMs })
  let sentMs = context.time.nowMs()
  await context.take(claim)
  const untilMs = sentMs + ttlMs * 2
  while (sentMs < untilMs) {
    await context.time.pass(ttlMs / 6)
    const other = context.claim()
    const nowMs = context.time.nowMs()
    const [result] = await context.store.renew([claim])
    const answer = await context.store.attempt(other, { enqueue: false, tokens: 1 })
    if (context.time.nowMs() - sentMs >= ttlMs) {
      await Promise.all([claim, other].map((one) => context.withdraw(one)))
      return false
    }
    assert.equal(result?.outcome, 'renewed')
    expectOutcome(answer, 'busy')
    sentMs = nowMs
  }
  return true
}

renew.test(
  'a renewed lease lasts longer than its first TTL',
  async (context) => {
    await context.time.eventually('a machine that renews in time', context.slackMs * 3, () =>
      staysRenewed(context),
    )
  },
  { needs: [leaseExpiry] },
)

renew.test(
  'a renewal after the lease expired is refused and leaves the new holder unchanged',
  async (context) => {
    const [stale, holder] = [
      context.claim({ ttlMs: context.shortMs }),
      context.claim({ ttlMs: context.shortMs }),
    ]
    await context.take(stale)
    await context.granted(holder, context.shortMs + context.slackMs)
    assert.deepEqual(await context.store.renew([{ ...stale, ttlMs: context.longMs }]), [
      { outcome: 'lost', reason: 'expired' },
    ])
    // The refused renewal did not extend the lease of the new holder.
    await context.granted(context.claim(), context.shortMs + context.slackMs)
  },
  { needs: [leaseExpiry] },
)

renew.test(
  'a renewal after the lease expired is refused, even without a new holder',
  async (context) => {
    const claim = context.claim({ ttlMs: context.shortMs })
    await context.take(claim)
    await context.time.pass(context.shortMs * 1.2 + 100)
    const [result] = await context.store.renew([claim])
    assert.equal(result?.outcome, 'lost')
    await context.take(context.claim())
  },
  { needs: [leaseExpiry] },
)

renew.test(
  'a renewal with a longer TTL keeps the lease for that long',
  async (context) => {
    const claim = context.claim({ ttlMs: context.shortMs })
    await context.take(claim)
    const longer = { ...claim, ttlMs: context.longMs }
    assert.deepEqual(await context.store.renew([longer]), [{ outcome: 'renewed' }])
    await context.time.pass(context.shortMs * 1.2 + 100)
    expectOutcome(
      await context.store.attempt(context.claim(), { enqueue: false, tokens: 1 }),
      'busy',
    )
    assert.deepEqual(await context.store.renew([longer]), [{ outcome: 'renewed' }])
    assert.equal(await context.withdraw(claim), 'released')
  },
  { needs: [leaseExpiry] },
)

renew.test(
  'a renewal with a shorter TTL lets the lease end with that',
  async (context) => {
    const claim = context.claim()
    await context.take(claim)
    const shorter = { ...claim, ttlMs: context.shortMs }
    assert.deepEqual(await context.store.renew([shorter]), [{ outcome: 'renewed' }])
    await context.granted(context.claim(), context.shortMs + context.slackMs)
    assert.equal((await context.store.renew([claim]))[0]?.outcome, 'lost')
  },
  { needs: [leaseExpiry] },
)

renew.test('a renewal after the release is refused and restores nothing', async (context) => {
  const claim = context.claim()
  await context.take(claim)
  await context.withdraw(claim)
  const [result] = await context.store.renew([claim])
  assert.equal(result?.outcome, 'lost')
  await context.take(context.claim())
})

renew.test('another claim id renews nothing', async (context) => {
  await context.take(context.claim())
  const [result] = await context.store.renew([context.claim()])
  assert.equal(result?.outcome, 'lost')
})

renew.test('a renewal without an attempt makes no lease', async (context) => {
  const [result] = await context.store.renew([context.claim()])
  assert.equal(result?.outcome, 'lost')
  await context.take(context.claim())
})

renew.test('the results of many renewals come in the order of the renewals', async (context) => {
  const locks = ['a', 'b', 'c', 'd'].map((part) => context.name(part))
  const claims = locks.map((lock) => context.claim({ lock }))
  for (const [index, claim] of claims.entries()) if (index % 2 === 0) await context.take(claim)
  const results = await context.store.renew(claims)
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    ['renewed', 'lost', 'renewed', 'lost'],
  )
  assert.deepEqual(await context.store.renew([]), [])
})

renew.test(
  'a renewal with a shorter TTL ends the lease sooner',
  async (context) => {
    const claim = context.claim()
    await context.take(claim)
    await context.store.renew([{ ...claim, ttlMs: context.shortMs }])
    await context.granted(context.claim(), context.shortMs + context.slackMs)
  },
  { needs: [leaseExpiry] },
)

renew.test('inspect shows the owner of the latest renewal', async (context) => {
  const claim = context.claim()
  await context.take(claim)
  const owner = { ...claim.owner, label: 'changed', localWaiters: 3 }
  await context.store.renew([{ ...claim, owner }])
  assert.deepEqual((await context.inspect())?.holders[0]?.owner, owner)
})

renew.test(
  'a renewal that keeps the end shows its owner, notes included, and lengthens nothing',
  async (context) => {
    const claim = context.claim()
    await context.take(claim)
    const before = (await context.inspect())?.holders[0]
    const note = { id: 'wait-1', lock: context.name('other'), weight: 1, sinceMs: 1 }
    const owner = { ...claim.owner, waitsFor: [note] }
    await context.time.pass(context.shortMs)
    const [result] = await context.store.renew([{ ...claim, owner, keepsEnd: true }])
    assert.equal(result?.outcome, 'renewed')
    const after = (await context.inspect())?.holders[0]
    assert.deepEqual(after?.owner, owner)
    const passedMs = (before?.remainingMs ?? Infinity) - (after?.remainingMs ?? Infinity)
    // A server's clock may be a little slower than that of the client.
    assert.ok(passedMs >= context.shortMs * 0.9, 'the lease was lengthened')
    await context.store.renew([{ ...claim, ttlMs: context.shortMs }])
    await context.store.renew([{ ...claim, keepsEnd: true }])
    await context.granted(context.claim(), context.shortMs + context.slackMs)
  },
  { needs: [leaseExpiry] },
)

renew.test(
  'a renewal that keeps the end shortens nothing, even with a short TTL',
  async (context) => {
    const claim = context.claim()
    await context.take(claim)
    await context.store.renew([{ ...claim, ttlMs: context.shortMs, keepsEnd: true }])
    await context.time.pass(context.shortMs * 2)
    expectOutcome(
      await context.store.attempt(context.claim(), { enqueue: false, tokens: 1 }),
      'busy',
    )
    const [result] = await context.store.renew([claim])
    assert.equal(result?.outcome, 'renewed')
  },
)

renew.test('a renewal that keeps the end of a lost lease finds it lost', async (context) => {
  const claim = context.claim()
  await context.take(claim)
  await context.withdraw(claim)
  const [result] = await context.store.renew([{ ...claim, keepsEnd: true }])
  assert.equal(result?.outcome, 'lost')
  await context.take(context.claim())
})
