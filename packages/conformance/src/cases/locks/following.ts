/** Semaphores during a rolling deploy: `onMismatch: 'follow'`. */
import assert from 'node:assert/strict'
import type { LockUsageError } from 'holdfast'
import { Group } from '../../case.js'
import { codeOf, expectError, outcomeOf } from '../../expect.js'
import { mustNotRun, semaphore } from '../../needs.js'

export const following = new Group('following', [semaphore])

const OLD = { permits: 2 } as const
const NEW = { permits: 4, onMismatch: 'follow' } as const

following.test('a follower uses the capacity in force, and then its own', async (context) => {
  const old = (await context.locks()).semaphore(context.name(), OLD)
  const next = (await context.locks()).semaphore(context.name(), NEW)
  const leases = [await old.acquire(), await next.acquire()]
  assert.equal(await next.tryAcquire(), undefined)
  assert.equal(await old.tryAcquire(), undefined)
  for (const lease of leases) assert.equal(await lease.release(), 'released')
  const all = await next.acquire({ weight: 4 })
  await expectError('LOCK_MISMATCH', () => old.tryAcquire())
  assert.equal(await all.release(), 'released')
})

following.test('a follower waits for a permit of the capacity in force', async (context) => {
  const old = (await context.locks()).semaphore(context.name(), OLD)
  const next = (await context.locks()).semaphore(context.name(), NEW)
  const both = await old.acquire({ weight: 2 })
  const late = outcomeOf(next.run(mustNotRun, { waitMs: 50 }))
  const ran = context.later(next.run((lease) => lease.held))
  await context.time.pass(50)
  assert.equal(codeOf(await context.soon(late)), 'LOCK_TIMEOUT')
  await both.release()
  const limitMs = 2000 + context.slackMs
  assert.equal(await context.time.within(ran, limitMs, 'the permit'), true)
})

following.test('a smaller number of permits follows a larger one, too', async (context) => {
  const next = (await context.locks()).semaphore(context.name(), NEW)
  const options = { permits: 2, onMismatch: 'follow' } as const
  const back = (await context.locks()).semaphore(context.name(), options)
  const three = await next.acquire({ weight: 3 })
  const one = await back.acquire()
  assert.equal(await back.tryAcquire(), undefined)
  assert.equal(await three.release(), 'released')
  assert.equal(await one.release(), 'released')
})

following.test('what cannot be followed is refused, and changes nothing', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const next = two.semaphore(context.name(), NEW)
  const held = await one.semaphore(context.name(), OLD).acquire()
  const refused = await expectError('LOCK_MISMATCH', () => next.acquire({ weight: 3 }))
  assert.deepEqual((refused as LockUsageError).inUse, { kind: 'semaphore', capacity: 2 })
  const refusing = two.semaphore(context.name(), { permits: 4, onMismatch: 'refuse' })
  await expectError('LOCK_MISMATCH', () => refusing.tryAcquire())
  await held.release()
  const mutex = await one.mutex(context.name()).acquire()
  await expectError('LOCK_MISMATCH', () => next.tryAcquire())
  await mutex.release()
  for (const onMismatch of ['fallow', true, null]) {
    const options = { permits: 4, onMismatch: onMismatch as 'follow' }
    await expectError('LOCK_USAGE', () => two.semaphore(context.name(), options))
  }
})

following.test('options of a follower that make no sense are refused', async (context) => {
  const follower = (await context.locks()).semaphore(context.name(), NEW).withWeight(2)
  for (const options of [null, 5, { waitMs: '5' }, { wait: 5 }]) {
    await expectError('LOCK_USAGE', () => follower.acquire(options as never))
    await expectError('LOCK_USAGE', () => follower.run(mustNotRun, options as never))
  }
  await expectError('LOCK_USAGE', () => follower.run(undefined as never))
})

following.test('a mismatch inside of the work is the error of the work', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const next = two.semaphore(context.name(), NEW)
  let runs = 0
  const running = next.run(async () => {
    runs += 1
    await one.semaphore(context.name(), OLD).acquire()
  })
  await expectError('LOCK_MISMATCH', () => running)
  assert.equal(runs, 1)
})

following.test('a multi-lock takes a follower', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const held = await one.semaphore(context.name(), OLD).acquire()
  const follower = two.semaphore(context.name(), NEW).withWeight(1)
  const both = two.multi([two.mutex(context.name('other')), follower])
  assert.equal(await both.run(({ tokens }) => tokens.size), 2)
  await held.release()
})
