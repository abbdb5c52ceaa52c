/** Steal: an operator ends a lease, at its own end or at once. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { expectOutcome } from '../../expect.js'
import { leaseExpiry, queue, semaphore } from '../../needs.js'

export const steal = new Group('steal')

const STOLEN = [{ outcome: 'lost', reason: 'stolen' }]

steal.test(
  'a stolen lease cannot be renewed, and keeps the lock until it ends',
  async (context) => {
    const holder = context.claim()
    await context.take(holder)
    const { holders, freeInMs = NaN } = await context.store.steal(holder.lock, { now: false })
    assert.equal(holders, 1)
    assert.ok(freeInMs > 0 && freeInMs <= holder.ttlMs, `free in ${freeInMs} ms`)
    assert.deepEqual(await context.store.renew([holder]), STOLEN)
    expectOutcome(
      await context.store.attempt(context.claim(), { enqueue: false, tokens: 1 }),
      'busy',
    )
  },
)

steal.test('a stolen lock is free when its holder releases it', async (context) => {
  const holder = context.claim()
  await context.take(holder)
  await context.store.steal(holder.lock, { now: false })
  await context.withdraw(holder)
  await context.take(context.claim())
})

steal.test(
  'a stolen lock is free when the lease ends',
  async (context) => {
    const holder = context.claim({ ttlMs: context.shortMs })
    await context.take(holder)
    await context.store.steal(holder.lock, { now: false })
    await context.granted(context.claim(), context.shortMs + context.slackMs)
  },
  { needs: [leaseExpiry] },
)

steal.test(
  'a stolen lock is free when the lease ends, even if its holder learned of the loss and does nothing',
  async (context) => {
    const holder = context.claim({ ttlMs: context.shortMs })
    const thief = await context.open()
    await context.take(holder)
    await thief.steal(holder.lock, { now: false })
    // The holder's connection stays open. On a slow machine the lease ends before it is stolen.
    assert.equal((await context.store.renew([holder]))[0]?.outcome, 'lost')
    await context.granted(context.claim(), context.shortMs + context.slackMs, thief)
  },
)

steal.test('a lock stolen with `now` is free at once', async (context) => {
  const holder = context.claim()
  await context.take(holder)
  assert.deepEqual(await context.store.steal(holder.lock, { now: true }), {
    holders: 1,
    freeInMs: 0,
  })
  await context.take(context.claim())
})

steal.test(
  'the former holder of a stolen lock cannot renew or release the next lease',
  async (context) => {
    const [former, holder] = [context.claim(), context.claim()]
    await context.take(former)
    await context.store.steal(former.lock, { now: true })
    await context.take(holder)
    const [result] = await context.store.renew([former])
    assert.equal(result?.outcome, 'lost')
    assert.notEqual(await context.withdraw(former), 'released')
    expectOutcome(
      await context.store.attempt(context.claim(), { enqueue: false, tokens: 1 }),
      'busy',
    )
    assert.equal(await context.withdraw(holder), 'released')
  },
)

steal.test(
  'a resent attempt does not restore a lease that was stolen with `now`',
  async (context) => {
    const [former, holder] = [context.claim(), context.claim()]
    await context.take(former)
    await context.store.steal(former.lock, { now: true })
    assert.notEqual((await context.attempt(former)).outcome, 'granted')
    await context.granted(holder, context.slackMs)
  },
)

steal.test(
  'a stolen lock goes to the first waiter',
  async (context) => {
    const [holder, first, second] = [context.claim(), context.claim(), context.claim()]
    await context.take(holder)
    await context.queue(first)
    await context.queue(second)
    await context.store.steal(holder.lock, { now: true })
    assert.equal((await context.attempt(second)).outcome, 'waiting')
    await context.granted(first, context.slackMs)
  },
  { needs: [queue] },
)

steal.test(
  'stealing a semaphore ends the leases of all its holders',
  async (context) => {
    const claims = Array.from({ length: 3 }, () =>
      context.claim({ kind: 'semaphore', capacity: 3 }),
    )
    for (const claim of claims) await context.take(claim)
    assert.equal((await context.store.steal(context.name(), { now: true })).holders, 3)
    await context.take(context.claim({ kind: 'semaphore', capacity: 3, weight: 3 }))
  },
  { needs: [semaphore] },
)

steal.test('stealing a free lock changes nothing', async (context) => {
  const nothing = { holders: 0, freeInMs: 0 }
  for (const now of [false, true]) {
    assert.deepEqual(await context.store.steal(context.name(), { now }), nothing)
  }
  const claim = context.claim()
  await context.take(claim)
  const [result] = await context.store.renew([claim])
  assert.equal(result?.outcome, 'renewed')
})

steal.test('stealing one lock leaves other locks unchanged', async (context) => {
  const other = context.claim({ lock: context.name('lock:more') })
  await context.take(context.claim())
  await context.take(other)
  await context.store.steal(context.name(), { now: true })
  const [result] = await context.store.renew([other])
  assert.equal(result?.outcome, 'renewed')
})

steal.test('inspect shows a stolen lease as stolen until it ends', async (context) => {
  await context.take(context.claim())
  await context.store.steal(context.name(), {
    now: false,
    reason: 'ops: "stuck" since \u00fcber an hour',
  })
  const holder = (await context.inspect())?.holders[0]
  assert.equal(holder?.stolen, true)
  assert.equal(holder?.stealReason, 'ops: "stuck" since \u00fcber an hour')
})
