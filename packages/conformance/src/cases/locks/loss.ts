/** Loss: the holder learns of it by the deadline under any fault, and unknown is not lost. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { slowAnswers, type Context } from '../../context.js'
import { codeOf, expectError, outcomeOf } from '../../expect.js'
import { planFor, planForFirst, type Fate, type Sent } from 'holdfast/testing'
import { type Lease, LockLostError } from 'holdfast'

export const loss = new Group('loss')

const FAILS: Fate = { drop: 'request', fails: true }
const HANGS: Fate = { drop: 'request' }

/** Resolves when the signal of the lease aborts. */
function lost(lease: Lease): Promise<void> {
  return new Promise((resolve) => {
    if (lease.signal.aborted) resolve()
    else lease.signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

async function assertLostInTime(context: Context, renewals: Fate): Promise<void> {
  const { locks } = await context.faulty(planFor({ renew: renewals }))
  const sentMs = context.time.nowMs()
  const lease = await context.soon(
    locks.mutex(context.name(), { ttlMs: context.shortMs }).acquire(),
  )
  await context.time.within(lost(lease), context.shortMs + context.slackMs, 'the loss')
  const tookMs = context.time.nowMs() - sentMs
  assert.ok(
    tookMs >= context.shortMs / 2,
    `the signal aborted after ${tookMs} ms, while the lease still lasted`,
  )
  assert.equal(lease.held, false)
  assert.throws(() => lease.assertHeld(), LockLostError)
  assert.equal((lease.signal.reason as LockLostError).reason, 'deadline')
  assert.equal(await context.soon(lease.release()), 'lost')
}

loss.test('a lease whose renewals fail is lost by its deadline', (context) =>
  assertLostInTime(context, FAILS),
)

loss.test('a lease whose renewals hang is lost by its deadline', (context) =>
  assertLostInTime(context, HANGS),
)

loss.test('a lease whose renewals hang delays no other lease', async (context) => {
  const ttlMs = context.shortMs * 3
  const names = [context.name('stuck'), context.name('one'), context.name('two')] as const
  const { store, locks } = await context.faulty(planFor({ renew: { ...HANGS, ofLock: names[0] } }))
  const acquire = (name: string): Promise<Lease> => locks.mutex(name, { ttlMs }).acquire()
  const [stuck, ...others] = (await context.soon(Promise.all(names.map(acquire)))) as [
    Lease,
    ...Lease[],
  ]
  await context.time.within(lost(stuck), ttlMs + context.slackMs, 'the loss')
  await context.time.pass(ttlMs / 2)
  for (const lease of others) assert.equal(lease.held, true)
  const isWhole = ({ message }: Sent): boolean =>
    message.verb === 'renew' && message.renewals.length === names.length
  assert.ok(store.sent.some(isWhole), 'the leases were never renewed together')
  for (const lease of others) assert.equal(await context.soon(lease.release()), 'released')
})

loss.test(
  'the next holder is granted only after the former holder stopped trusting its lease',
  async (context) => {
    for (const renewals of [FAILS, HANGS]) {
      const { locks } = await context.faulty(planFor({ renew: renewals }))
      const mutex = locks.mutex(context.name(), { ttlMs: context.shortMs })
      const before = await context.time.within(
        mutex.acquire(),
        context.shortMs + context.slackMs,
        'the lock',
      )
      const next = (await context.locks()).mutex(context.name()).acquire()
      const limitMs = context.shortMs + 1000 + context.slackMs
      const lease = await context.time.within(next, limitMs, 'the next holder')
      assert.equal(before.held, false)
      await lease.release()
    }
  },
)

loss.test('a renewal with an unknown outcome is repeated, and keeps the lease', async (context) => {
  // The second renewal leaves a third of the TTL before the end: a busy machine stalls for a while.
  const ttlMs = Math.max(context.shortMs * 3, 1_500)
  for (const fate of [FAILS, HANGS, { drop: 'reply' } as const]) {
    const { store, locks } = await context.faulty(planForFirst('renew', fate))
    const lease = await context.soon(locks.mutex(context.name(), { ttlMs }).acquire())
    await context.time.pass(ttlMs * 1.5)
    assert.equal(lease.held, true)
    assert.equal(lease.signal.aborted, false)
    assert.ok(store.count('renew') >= 2)
    assert.equal(await context.soon(lease.release()), 'released')
  }
})

loss.test(
  'work that lasts longer than the TTL keeps the lock through renewals',
  async (context) => {
    const ttlMs = context.shortMs * 3
    const [one, two] = [await context.locks(), await context.locks()]
    const run = one.mutex(context.name(), { ttlMs }).run(async (lease) => {
      await new Promise<void>((resolve) => void context.time.clock.timer(ttlMs * 1.5, resolve))
      assert.equal(lease.held, true)
      assert.equal(await two.mutex(context.name()).tryAcquire(), undefined)
      return 'done'
    })
    assert.equal(await context.time.within(run, ttlMs * 1.5 + context.slackMs, 'the work'), 'done')
  },
)

loss.test(
  'work that lasts longer than its lease gets an aborted signal, and run rejects',
  async (context) => {
    const { locks } = await context.faulty(planFor({ renew: HANGS }))
    let aborted = false
    const run = locks.mutex(context.name(), { ttlMs: context.shortMs }).run(async (lease) => {
      await lost(lease)
      aborted = true
      return 'done too late'
    })
    const limitMs = context.shortMs + context.slackMs
    await expectError('LOCK_LOST', () => context.time.within(run, limitMs, 'the loss'))
    assert.ok(aborted)
  },
)

loss.test(
  'the error of work under a lost lease is the cause of the LockLostError',
  async (context) => {
    const { locks } = await context.faulty(planFor({ renew: HANGS }))
    const failure = new Error('the work noticed')
    const run = locks.mutex(context.name(), { ttlMs: context.shortMs }).run(async (lease) => {
      await lost(lease)
      throw failure
    })
    const outcome = await context.time.within(
      outcomeOf(run),
      context.shortMs + context.slackMs,
      'the loss',
    )
    assert.equal(codeOf(outcome), 'LOCK_LOST')
    assert.equal((outcome as { error: LockLostError }).error.cause, failure)
  },
)

loss.test('a lease with renew: false ends after its TTL', async (context) => {
  // A request that is sent again may find a grant that a renewal has to complete.
  const { store, locks } = await context.faulty(planFor({}), slowAnswers(context))
  const mutex = locks.mutex(context.name(), { ttlMs: context.shortMs, renew: false })
  const lease = await context.soon(mutex.acquire())
  await context.time.within(lost(lease), context.shortMs + context.slackMs, 'the end')
  assert.equal(store.count('renew'), 0)
  const next = (await context.locks()).mutex(context.name()).acquire()
  await context.time.within(next, context.shortMs + context.slackMs, 'the next holder')
})

loss.test('a lease with renew: false that was waited for lasts for its TTL', async (context) => {
  const ttlMs = context.longMs
  const [one, two, name] = [await context.locks(), await context.locks(), context.name()]
  const before = await context.soon(one.mutex(name).acquire())
  const waiting = two.mutex(name, { ttlMs, renew: false }).acquire()
  // The store may push the grant with a short TTL first. Give the push time to arrive.
  await context.time.pass(100)
  await context.soon(before.release())
  const lease = await context.time.within(waiting, context.slackMs, 'the lock')
  const lasts = (): boolean => lease.remainingMs > ttlMs / 2
  await context.time.eventually('the lease lasts for its TTL', context.slackMs, lasts)
  await lease.release()
})

loss.test(
  'a lease that ended while the process was stopped is not held, before any timer has run',
  async (context) => {
    const locks = await context.locks()
    const lease = await context.soon(
      locks.mutex(context.name(), { ttlMs: context.shortMs }).acquire(),
    )
    standStill(context, context.shortMs + 50)
    assert.equal(lease.held, false)
    assert.throws(() => lease.assertHeld(), LockLostError)
    await context.time.within(lost(lease), context.slackMs, 'the signal')
  },
  // Every other case in the process would stop as well.
  { alone: true },
)

loss.test('a lease is lost after maxHoldMs, even if renewals succeed', async (context) => {
  const locks = await context.locks()
  const lease = await context.soon(locks.mutex(context.name(), { maxHoldMs: 200 }).acquire())
  await context.time.within(lost(lease), 200 + context.slackMs, 'the end')
  assert.equal((lease.signal.reason as LockLostError).reason, 'max-hold')
  assert.equal(lease.held, false)
  await context.soon(lease.release())
  await context.soon((await context.locks()).mutex(context.name()).acquire(), 'the free lock')
})

loss.test(
  'the holder of a stolen lock learns of the loss, and its release frees the lock',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const ttlMs = context.shortMs * 3
    const lease = await context.soon(one.mutex(context.name(), { ttlMs }).acquire())
    await two.steal(context.name(), { reason: 'ada: stuck' })
    assert.equal(await context.soon(two.mutex(context.name()).tryAcquire()), undefined)
    await context.time.within(lost(lease), ttlMs + context.slackMs, 'the loss')
    assert.equal((lease.signal.reason as LockLostError).reason, 'stolen')
    assert.match((lease.signal.reason as LockLostError).message, /ada: stuck/)
    assert.equal(await context.soon(lease.release()), 'lost')
    const next = await context.soon(two.mutex(context.name()).acquire(), 'the free lock')
    assert.ok(next.token > lease.token)
  },
)

/** Stops the event loop, as a long computation or a stopped process does. */
function standStill({ subject }: Context, ms: number): void {
  if (subject.clock) subject.clock.freeze(ms)
  else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
