/**
 * Withdrawing: only the owner releases, a withdrawn claim stays withdrawn, and a repeated answer is
 * the same answer.
 */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectOutcome } from '../../expect.js'
import { leaseExpiry, queue } from '../../needs.js'

export const withdraw = new Group('withdraw')

withdraw.test(
  'a release frees the lock, and says so again when it is repeated',
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
  'a release after the lease expired frees nothing, and does not claim to',
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
  'a release after the lease expired is no release, though nobody came since',
  async (context) => {
    const claim = context.claim({ ttlMs: context.shortMs })
    await context.take(claim)
    await context.time.pass(context.shortMs * 1.2 + 100)
    assert.notEqual(await context.withdraw(claim), 'released')
  },
  { needs: [leaseExpiry] },
)

withdraw.test('a stranger releases nothing', async (context) => {
  const [holder, stranger] = [context.claim(), context.claim()]
  await context.take(holder)
  assert.equal(await context.withdraw(stranger), 'absent')
  expectOutcome(await context.store.attempt(context.claim(), { enqueue: false, tokens: 1 }), 'busy')
})

withdraw.test('a claim is not withdrawn under the name of another lock', async (context) => {
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
  assert.equal(await context.withdraw(claim), 'released', 'the refused attempt changes nothing')
  await context.take(context.claim())
})

withdraw.test(
  'an attempt that arrives after its own claim left the queue is refused',
  async (context) => {
    const [holder, waiter, next] = [context.claim(), context.claim(), context.claim()]
    await context.take(holder)
    await context.queue(waiter)
    assert.equal(await context.withdraw(waiter), 'left')
    assert.equal(await context.withdraw(waiter), 'left', 'a repeated answer is the same answer')
    expectOutcome(await context.attempt(waiter), 'withdrawn')
    await context.queue(next)
    await context.withdraw(holder)
    expectOutcome(await context.attempt(waiter), 'withdrawn')
    await context.granted(next, context.slackMs)
  },
  { needs: [queue] },
)

withdraw.test(
  'a withdrawn claim is remembered while a hundred others come and go',
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
  'a claim that was withdrawn before its attempt is remembered while a hundred others come and go',
  async (context) => {
    const early = context.claim()
    await context.withdraw(early)
    await comeAndGo(context, 100)
    expectOutcome(await context.attempt(early), 'withdrawn')
  },
)

withdraw.test('a released claim is remembered while a few others come and go', async (context) => {
  const released = context.claim()
  await context.take(released)
  await context.withdraw(released)
  await comeAndGo(context, 3)
  expectOutcome(await context.attempt(released), 'withdrawn')
  assert.equal(await context.withdraw(released), 'released')
})

withdraw.test(
  'a withdrawn claim is remembered in a store that many locks came through',
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
  'an attempt and its withdraw in flight together leave the lock free',
  async (context) => {
    const [one, two] = [await context.open(), await context.open()]
    for (let round = 0; round < 10; round += 1) {
      const claim = context.claim()
      // Two connections, so that either may arrive first.
      await Promise.all([context.attempt(claim, one), context.withdraw(claim, two)])
      const next = context.claim()
      await context.granted(next, context.slackMs)
      await context.withdraw(next)
    }
  },
)

withdraw.test(
  'a release lets a waiter in',
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
  'an attempt behind a withdraw is refused, also long after the lease had expired',
  async (context) => {
    const [claim, other] = [context.claim({ ttlMs: context.shortMs }), context.claim()]
    await context.take(claim)
    // Somebody else makes the store notice that the lease is over; then so much time passes that it
    // may forget that.
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
