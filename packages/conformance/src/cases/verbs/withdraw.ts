/**
 * Withdrawing: only the owner releases, a withdrawn claim stays withdrawn, and a repeated withdraw
 * has the same answer.
 */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectOutcome } from '../../expect.js'
import { leaseExpiry, queue } from '../../needs.js'

export const withdraw = new Group('withdraw')

withdraw.test(
  'a release frees the lock, and a repeated release is answered the same',
  async (context) => {
    const claim = context.claim()
    await context.take(claim)
    assert.equal(await context.withdraw(claim), 'released')
    assert.equal(await context.withdraw(claim), 'released')
    await context.take(context.claim())
    assert.equal(await context.withdraw(claim), 'released')
  },
)

withdraw.test('a repeated release does not free the lock of the next holder', async (context) => {
  const [before, holder] = [context.claim(), context.claim()]
  await context.take(before)
  await context.withdraw(before)
  await context.take(holder)
  await context.withdraw(before)
  expectOutcome(await context.store.attempt(context.claim(), { enqueue: false, tokens: 1 }), 'busy')
  assert.equal(await context.withdraw(holder), 'released')
})

withdraw.test(
  'a release after the lease expired frees nothing, and is not answered `released`',
  async (context) => {
    const [stale, holder] = [context.claim({ ttlMs: context.shortMs }), context.claim()]
    await context.take(stale)
    await context.granted(holder, context.shortMs + context.slackMs)
    assert.notEqual(await context.withdraw(stale), 'released')
    expectOutcome(
      await context.store.attempt(context.claim(), { enqueue: false, tokens: 1 }),
      'busy',
    )
    assert.equal(await context.withdraw(holder), 'released')
  },
  { needs: [leaseExpiry] },
)

withdraw.test(
  'a release after the lease expired is not answered `released`, even without a new holder',
  async (context) => {
    const claim = context.claim({ ttlMs: context.shortMs })
    await context.take(claim)
    await context.time.pass(context.shortMs * 1.2 + 100)
    assert.notEqual(await context.withdraw(claim), 'released')
  },
  { needs: [leaseExpiry] },
)

withdraw.test('another claim id releases nothing', async (context) => {
  const [holder, other] = [context.claim(), context.claim()]
  await context.take(holder)
  assert.equal(await context.withdraw(other), 'absent')
  expectOutcome(await context.store.attempt(context.claim(), { enqueue: false, tokens: 1 }), 'busy')
})

withdraw.test('a claim is not withdrawn through the name of another lock', async (context) => {
  const claim = context.claim()
  await context.take(claim)
  assert.equal(await context.withdraw({ ...claim, lock: context.name('other') }), 'absent')
  expectOutcome(await context.store.attempt(context.claim(), { enqueue: false, tokens: 1 }), 'busy')
})

withdraw.test('an attempt that arrives after its own withdraw is refused', async (context) => {
  const claim = context.claim()
  assert.equal(await context.withdraw(claim), 'absent')
  for (const enqueue of [true, false]) {
    expectOutcome(await context.store.attempt(claim, { enqueue, tokens: 1 }), 'withdrawn')
  }
  await context.take(context.claim())
})

withdraw.test('an attempt that arrives after its own release is refused', async (context) => {
  const claim = context.claim()
  await context.take(claim)
  await context.withdraw(claim)
  expectOutcome(await context.attempt(claim), 'withdrawn')
  assert.equal(
    await context.withdraw(claim),
    'released',
    'the refused attempt changed the tombstone',
  )
  await context.take(context.claim())
})

withdraw.test(
  'an attempt that arrives after its claim left the queue is refused',
  async (context) => {
    const [holder, waiter, next] = [context.claim(), context.claim(), context.claim()]
    await context.take(holder)
    await context.queue(waiter)
    assert.equal(await context.withdraw(waiter), 'left')
    assert.equal(await context.withdraw(waiter), 'left', 'a repeated withdraw has another answer')
    expectOutcome(await context.attempt(waiter), 'withdrawn')
    await context.queue(next)
    await context.withdraw(holder)
    expectOutcome(await context.attempt(waiter), 'withdrawn')
    await context.granted(next, context.slackMs)
  },
  { needs: [queue] },
)

withdraw.test(
  'the tombstone of a withdrawn claim outlasts a hundred later claims',
  async (context) => {
    const [early, released] = [context.claim(), context.claim()]
    await context.withdraw(early)
    await context.take(released)
    await context.withdraw(released)
    await comeAndGo(context, 100)
    expectOutcome(await context.attempt(early), 'withdrawn')
    expectOutcome(await context.attempt(released), 'withdrawn')
    assert.equal(await context.withdraw(released), 'released')
  },
)

withdraw.test(
  'the tombstone of a claim that was withdrawn before its attempt outlasts a hundred later claims',
  async (context) => {
    const early = context.claim()
    await context.withdraw(early)
    await comeAndGo(context, 100)
    expectOutcome(await context.attempt(early), 'withdrawn')
  },
)

withdraw.test('the tombstone of a released claim outlasts a few later claims', async (context) => {
  const released = context.claim()
  await context.take(released)
  await context.withdraw(released)
  await comeAndGo(context, 3)
  expectOutcome(await context.attempt(released), 'withdrawn')
  assert.equal(await context.withdraw(released), 'released')
})

withdraw.test(
  'a claim withdrawn after a thousand other locks has a tombstone',
  async (context) => {
    for (let batch = 0; batch < 13; batch += 1) {
      const claims = Array.from({ length: 100 }, (_, index) =>
        context.claim({ lock: context.name(`past-${batch}-${index}`) }),
      )
      await Promise.all(claims.map((claim) => context.take(claim)))
      await Promise.all(claims.map((claim) => context.withdraw(claim)))
    }
    const claim = context.claim()
    await context.take(claim)
    await context.withdraw(claim)
    assert.equal(await context.withdraw(claim), 'released')
    expectOutcome(await context.attempt(claim), 'withdrawn')
  },
  { alone: true },
)

withdraw.test(
  'an attempt and its withdraw, sent together, leave the lock free',
  async (context) => {
    const [one, two] = [await context.open(), await context.open()]
    for (let round = 0; round < 10; round += 1) {
      const claim = context.claim()
      // Over two connections, so that any of the two may arrive first.
      await Promise.all([context.attempt(claim, one), context.withdraw(claim, two)])
      const next = context.claim()
      await context.granted(next, context.slackMs)
      await context.withdraw(next)
    }
  },
)

withdraw.test(
  'a release grants the first waiter',
  async (context) => {
    const [holder, waiter] = [context.claim(), context.claim()]
    await context.take(holder)
    await context.queue(waiter)
    await context.withdraw(holder)
    await context.granted(waiter, context.slackMs)
    assert.equal(await context.withdraw(waiter), 'released')
  },
  { needs: [queue] },
)

withdraw.test(
  'an attempt after its withdraw is refused, even long after the lease would have expired',
  async (context) => {
    const [claim, other] = [context.claim({ ttlMs: context.shortMs }), context.claim()]
    await context.take(claim)
    // Another claim makes the store remove the ended lease. Then enough time passes for the store
    // to forget it.
    await context.granted(other, context.shortMs + context.slackMs)
    await context.withdraw(other)
    await context.time.pass(context.shortMs * 1.2 + 100)
    assert.equal(await context.withdraw(claim), 'absent')
    expectOutcome(await context.attempt(claim), 'withdrawn')
  },
  { needs: [leaseExpiry] },
)

async function comeAndGo(context: Context, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const claim = context.claim()
    await context.take(claim)
    await context.withdraw(claim)
  }
}
