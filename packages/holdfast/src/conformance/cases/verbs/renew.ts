/** Renewals: they keep a lease alive, and only its own. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { expectOutcome } from '../../expect.js'
import { inspect, leaseExpiry } from '../../needs.js'

export const renew = new Group('renew')

renew.test(
  'a lease that is renewed outlives its TTL',
  async (context) => {
    const ttlMs = context.shortMs * 2
    const claim = context.claim({ ttlMs })
    await context.take(claim)
    const untilMs = context.time.nowMs() + ttlMs * 2
    while (context.time.nowMs() < untilMs) {
      await context.time.pass(ttlMs / 6)
      const [result] = await context.store.renew([claim])
      assert.equal(result?.outcome, 'renewed')
      expectOutcome(
        await context.store.attempt(context.claim(), { enqueue: false, tokens: 1 }),
        'busy',
      )
    }
  },
  { needs: [leaseExpiry] },
)

renew.test(
  'a renewal after the lease expired is refused and does not touch the new holder',
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
    // The refused renewal has not lengthened the lease of whoever holds the lock now.
    await context.granted(context.claim(), context.shortMs + context.slackMs)
  },
  { needs: [leaseExpiry] },
)

renew.test(
  'a renewal after the lease expired is refused, though nobody came since',
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

renew.test('a renewal after the release is refused and brings nothing back', async (context) => {
  const claim = context.claim()
  await context.take(claim)
  await context.withdraw(claim)
  const [result] = await context.store.renew([claim])
  assert.equal(result?.outcome, 'lost')
  await context.take(context.claim())
})

renew.test('a stranger renews nothing', async (context) => {
  await context.take(context.claim())
  const [result] = await context.store.renew([context.claim()])
  assert.equal(result?.outcome, 'lost')
})

renew.test('a renewal that comes before any attempt makes no lease', async (context) => {
  const [result] = await context.store.renew([context.claim()])
  assert.equal(result?.outcome, 'lost')
  await context.take(context.claim())
})

renew.test('many renewals are answered in their order', async (context) => {
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

renew.test(
  'a renewal shows the owner as it is now',
  async (context) => {
    const claim = context.claim()
    await context.take(claim)
    const owner = { ...claim.owner, label: 'second thoughts', localWaiters: 3 }
    await context.store.renew([{ ...claim, owner }])
    assert.deepEqual((await context.inspect())?.holders[0]?.owner, owner)
  },
  { needs: [inspect] },
)
