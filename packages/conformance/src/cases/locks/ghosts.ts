/**
 * Messages that are lost, delayed or repeated. No claim without a holder keeps the lock, and a
 * repeated release has the same outcome.
 */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { slowAnswers, type Context } from '../../context.js'
import { expectError } from '../../expect.js'
import { Gate, planFor, planForFirst, type Fate } from 'holdfast/testing'
import { queue } from '../../needs.js'

export const ghosts = new Group('ghosts')

/** Checks that another client gets the lock at once, long before a TTL has passed. */
async function assertFree(context: Context): Promise<void> {
  assert.ok(
    context.slackMs < context.longMs / 2,
    'the TTL is too short to tell a ghost from a slow machine',
  )
  const locks = await context.locks()
  const lease = await context.soon(
    locks.mutex(context.name()).acquire(),
    'the lock without a holder',
  )
  assert.equal(await context.soon(lease.release()), 'released')
}

async function assertNoGhostAfter(context: Context, attempt: Fate): Promise<void> {
  const { locks } = await context.faulty(planForFirst('attempt', attempt))
  await expectError('STORE_UNAVAILABLE', () =>
    context.time.within(
      locks.mutex(context.name()).tryAcquire(),
      1000 + context.slackMs,
      'the failure',
    ),
  )
  await assertFree(context)
}

/** Checks that a waiting caller sends the attempt again, and holds once. */
async function assertHeldOnceAfter(context: Context, attempt: Fate): Promise<void> {
  const { locks } = await context.faulty(planForFirst('attempt', attempt))
  const acquiring = locks.mutex(context.name()).acquire()
  const lease = await context.time.within(acquiring, 3000 + context.slackMs, 'the lock')
  assert.equal(await context.soon(lease.release()), 'released')
  await assertFree(context)
}

ghosts.test('a grant whose reply was lost does not keep the lock', (context) =>
  assertNoGhostAfter(context, { drop: 'reply' }),
)

ghosts.test('a grant whose connection broke before the reply does not keep the lock', (context) =>
  assertNoGhostAfter(context, { drop: 'reply', fails: true }),
)

ghosts.test(
  'a waiting caller holds once when the reply to its attempt is lost',
  async (context) => {
    await assertHeldOnceAfter(context, { drop: 'reply' })
    await assertHeldOnceAfter(context, { drop: 'reply', fails: true })
    await assertHeldOnceAfter(context, { drop: 'request', fails: true })
  },
)

ghosts.test(
  'a grant whose reply comes after the caller gave up does not keep the lock',
  (context) => assertNoGhostAfter(context, { replyMs: context.faultyTimeoutMs + 150 }),
)

ghosts.test(
  'an attempt that arrives after the caller gave up does not take the lock',
  async (context) => {
    const gate = new Gate()
    await assertNoGhostAfter(context, { holdRequest: gate.opened })
    gate.open()
    await context.time.pass(30)
    await assertFree(context)
  },
)

ghosts.test(
  'an attempt that arrives again after the release does not take the lock',
  async (context) => {
    const { locks } = await context.faulty(planForFirst('attempt', { againAfterMs: 60 }))
    const lease = await context.soon(locks.mutex(context.name()).acquire())
    assert.equal(await context.soon(lease.release()), 'released')
    await context.time.pass(120)
    await assertFree(context)
  },
)

ghosts.test('an attempt that arrives twice is one hold', async (context) => {
  const { locks } = await context.faulty(planFor({ attempt: { againAfterMs: 5 } }))
  const lease = await context.soon(locks.mutex(context.name()).acquire())
  await context.time.pass(40)
  assert.equal(await context.soon(lease.release()), 'released')
  await assertFree(context)
})

ghosts.test(
  'a release whose request or reply was lost is repeated until it is answered',
  async (context) => {
    for (const fate of [
      { drop: 'request' },
      { drop: 'reply' },
      { drop: 'reply', fails: true },
    ] as const) {
      const { store, locks } = await context.faulty(planForFirst('withdraw', fate))
      const lease = await context.soon(locks.mutex(context.name()).acquire())
      const outcome = await context.time.within(
        lease.release(),
        2000 + context.slackMs,
        'the release',
      )
      assert.equal(outcome, 'released')
      assert.equal(store.count('withdraw'), 2)
      await assertFree(context)
    }
  },
)

ghosts.test(
  'a release that stays unknown rejects, and the lock is free when the store is back',
  async (context) => {
    const { store, locks } = await context.faulty(
      planFor({ withdraw: { drop: 'request', fails: true } }),
    )
    const lease = await context.soon(
      locks.mutex(context.name(), { ttlMs: context.shortMs * 2 }).acquire(),
    )
    const limitMs = context.shortMs * 2 + context.slackMs
    await expectError('RELEASE_UNKNOWN', () =>
      context.time.within(lease.release(), limitMs, 'the error'),
    )
    store.heal()
    const next = (await context.locks()).mutex(context.name()).acquire()
    await context.time.within(next, limitMs, 'the lock')
  },
)

ghosts.test(
  'a renewal that arrives after the release does not restore the lease',
  async (context) => {
    const gate = new Gate()
    const { store, locks } = await context.faulty(planFor({ renew: { holdRequest: gate.opened } }))
    const lease = await context.soon(
      locks.mutex(context.name(), { ttlMs: context.shortMs * 3 }).acquire(),
    )
    await context.time.eventually(
      'a renewal is in flight',
      context.shortMs + context.slackMs,
      () => {
        return store.count('renew') > 0
      },
    )
    await context.soon(lease.release())
    gate.open()
    await context.time.pass(30)
    assert.equal(lease.held, false)
    await assertFree(context)
  },
)

ghosts.test(
  'a waiter is granted even if all its wake-ups are lost',
  async (context) => {
    const holder = await (await context.locks()).mutex(context.name()).acquire()
    const { locks } = await context.faulty(
      planFor({ wake: { drop: 'request' } }),
      slowAnswers(context),
    )
    const waiting = context.later(locks.mutex(context.name()).acquire())
    await context.waiters(1)
    await holder.release()
    // The re-attempt floor is two seconds at most.
    const lease = await context.time.within(waiting, 2000 + context.slackMs, 'the lock')
    assert.equal(lease.held, true)
  },
  { needs: [queue] },
)

ghosts.test(
  'a late wake-up changes nothing',
  async (context) => {
    const holder = await (await context.locks()).mutex(context.name()).acquire()
    const gate = new Gate()
    const { locks } = await context.faulty(
      planFor({ wake: { holdRequest: gate.opened } }),
      slowAnswers(context),
    )
    const waiting = context.later(locks.mutex(context.name()).acquire())
    await context.waiters(1)
    await holder.release()
    const lease = await context.time.within(waiting, 2000 + context.slackMs, 'the lock')
    assert.equal(await context.soon(lease.release()), 'released')
    gate.open()
    await context.time.pass(20)
    await assertFree(context)
  },
  { needs: [queue] },
)
