/** Steal of one claim: the holder or waiter that the operator looked at, and no other. */
import assert from 'node:assert/strict'
import type { LockLostError } from 'holdfast'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectError, outcomeOf } from '../../expect.js'
import { adopt, queue, remembersSteals, semaphore } from '../../needs.js'

export const stealClaim = new Group('steal of one claim')

const REASON = 'ops: "stuck" since \u00fcber an hour'
const STOLEN = { outcome: 'lost', reason: 'stolen', stealReason: REASON } as const
const NOTHING = { holders: 0, waiters: 0, freeInMs: 0 }

function renewals(context: Context, ...claims: ReturnType<Context['claim']>[]) {
  return context.store.renew(claims)
}

stealClaim.test(
  'a steal of one holder refuses its renewals, and leaves the other holders',
  async (context) => {
    const [one, other] = [0, 1].map(() => context.claim({ kind: 'semaphore', capacity: 2 }))
    assert.ok(one && other)
    await context.take(one)
    await context.take(other)
    const options = { claim: one.id, now: false, reason: REASON }
    const { freeInMs = NaN, ...stolen } = await context.store.steal(one.lock, options)
    assert.deepEqual(stolen, { holders: 1, waiters: 0 })
    assert.ok(freeInMs > 0 && freeInMs <= one.ttlMs, `free in ${freeInMs} ms`)
    assert.deepEqual(await renewals(context, one, other), [STOLEN, { outcome: 'renewed' }])
  },
  { needs: [semaphore] },
)

stealClaim.test('a steal of a holder that has changed takes nothing', async (context) => {
  const [former, holder] = [context.claim(), context.claim()]
  await context.take(former)
  await context.withdraw(former)
  await context.take(holder)
  for (const now of [false, true]) {
    for (const { id } of [former, context.claim()]) {
      assert.deepEqual(await context.store.steal(holder.lock, { claim: id, now }), NOTHING)
    }
  }
  assert.deepEqual(await renewals(context, holder), [{ outcome: 'renewed' }])
})

stealClaim.test(
  'a steal of a claim whose lease was adopted takes nothing',
  async (context) => {
    const [from, to] = [context.claim(), context.claim()]
    const { token } = await context.take(from)
    await context.store.adopt?.({ from, token, to, detached: false })
    for (const now of [false, true]) {
      assert.deepEqual(await context.store.steal(to.lock, { claim: from.id, now }), NOTHING)
    }
    assert.deepEqual(await renewals(context, to), [{ outcome: 'renewed' }])
  },
  { needs: [adopt] },
)

stealClaim.test('a holder that is stolen with `now` makes room at once', async (context) => {
  const [former, holder] = [context.claim(), context.claim()]
  await context.take(former)
  const options = { claim: former.id, now: true, reason: REASON }
  const stolen = await context.store.steal(former.lock, options)
  assert.deepEqual(stolen, { holders: 1, waiters: 0, freeInMs: 0 })
  await context.take(holder)
  assert.notEqual((await context.attempt(former)).outcome, 'granted')
  assert.deepEqual(await renewals(context, holder), [{ outcome: 'renewed' }])
})

stealClaim.test(
  'the reason of a steal with `now` reaches the holder, also after many other claims',
  async (context) => {
    for (const claim of [true, false]) {
      const former = context.claim()
      await context.take(former)
      const only = claim ? { claim: former.id } : {}
      await context.store.steal(former.lock, { ...only, now: true, reason: REASON })
      for (let count = 0; count < 20; count += 1) {
        const next = context.claim()
        await context.take(next)
        await context.withdraw(next)
      }
      for (let times = 0; times < 2; times += 1)
        assert.deepEqual(await renewals(context, former), [STOLEN])
      await context.withdraw(former)
    }
  },
  { needs: [remembersSteals] },
)

stealClaim.test(
  'a steal of a waiter takes it out of the queue, and leaves the others',
  async (context) => {
    const [holder, waiter, next] = [context.claim(), context.claim(), context.claim()]
    await context.take(holder)
    await context.queue(waiter)
    await context.queue(next)
    const options = { claim: waiter.id, now: false, reason: REASON }
    const stolen = await context.store.steal(holder.lock, options)
    assert.deepEqual(stolen, { holders: 0, waiters: 1, freeInMs: 0 })
    const info = await context.inspect()
    assert.deepEqual(
      info?.waiters.map(({ claimId }) => claimId),
      [next.id],
    )
    assert.equal((await context.attempt(waiter)).outcome, 'withdrawn')
    assert.deepEqual(await context.store.steal(holder.lock, options), NOTHING)
    assert.deepEqual(await renewals(context, holder), [{ outcome: 'renewed' }])
    await context.withdraw(holder)
    await context.granted(next, context.slackMs)
  },
  { needs: [queue] },
)

stealClaim.test(
  'a steal of a heavy waiter lets the lighter one behind it in',
  async (context) => {
    const gate = { kind: 'semaphore', capacity: 3 } as const
    const [holder, heavy, light] = [
      context.claim({ ...gate, weight: 1 }),
      context.claim({ ...gate, weight: 3 }),
      context.claim({ ...gate, weight: 1 }),
    ]
    await context.take(holder)
    await context.queue(heavy)
    await context.queue(light)
    await context.store.steal(holder.lock, { claim: heavy.id, now: true })
    await context.granted(light, context.slackMs)
  },
  { needs: [queue, semaphore] },
)

stealClaim.test(
  'the next attempt of a stolen waiter is answered with the reason',
  async (context) => {
    const [holder, waiter] = [context.claim(), context.claim()]
    await context.take(holder)
    await context.queue(waiter)
    await context.store.steal(holder.lock, { claim: waiter.id, now: false, reason: REASON })
    for (let times = 0; times < 2; times += 1) {
      const answer = await context.attempt(waiter)
      assert.deepEqual(answer, { outcome: 'withdrawn', stolen: true, stealReason: REASON })
    }
  },
  { needs: [queue, remembersSteals] },
)

stealClaim.test(
  'the caller of a stolen waiter rejects with the reason',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const lease = await context.soon(one.mutex(context.name()).acquire())
    const waiting = outcomeOf(two.mutex(context.name()).acquire())
    let claim: string | undefined
    await context.time.eventually('a waiter', context.slackMs, async () => {
      claim = (await context.inspect())?.waiters[0]?.claimId
      return claim !== undefined
    })
    const stolen = await context.soon(one.steal(context.name(), { claim, reason: 'ada: stuck' }))
    assert.deepEqual(stolen, { holders: 0, waiters: 1, freeInMs: 0 })
    const outcome = await context.time.within(waiting, 2000 + context.slackMs, 'the end')
    const error = await expectError('LOCK_LOST', () => {
      if ('error' in outcome) throw outcome.error
    })
    const { reason, stealReason } = error as LockLostError
    assert.deepEqual([reason, stealReason], ['stolen', 'ada: stuck'])
    assert.equal(lease.held, true)
  },
  { needs: [queue, remembersSteals] },
)

stealClaim.test(
  'the lease of a claim that is stolen with `now` is lost with the reason',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const lease = await context.soon(one.mutex(context.name()).acquire())
    const { claimId: claim } = lease
    await context.soon(two.steal(context.name(), { claim, now: true, reason: 'ada: stuck' }))
    await expectError('LOCK_LOST', () => context.soon(lease.renew()))
    assert.equal((lease.signal.reason as LockLostError).stealReason, 'ada: stuck')
  },
  { needs: [remembersSteals] },
)

stealClaim.test(
  'an adopter of a lease that was stolen with `now` learns the reason',
  async (context) => {
    const [from, to] = [context.claim(), context.claim()]
    const { token } = await context.take(from)
    await context.store.steal(from.lock, { claim: from.id, now: true, reason: REASON })
    const answer = await context.store.adopt?.({ from, token, to, detached: false })
    assert.deepEqual(answer, STOLEN)
    assert.equal((await context.attempt(context.claim())).outcome, 'granted')
  },
  { needs: [adopt, remembersSteals] },
)

stealClaim.test(
  'a detached lease that was stolen with `now` is lost with the reason',
  async (context) => {
    const [from, to] = [context.claim(), context.claim()]
    const { token } = await context.take(from)
    await context.store.adopt?.({ from, token, to, detached: true })
    await context.store.steal(to.lock, { claim: to.id, now: true, reason: REASON })
    assert.deepEqual(await renewals(context, to), [STOLEN])
  },
  { needs: [adopt, remembersSteals] },
)
