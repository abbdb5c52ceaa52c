/** Clients that disagree on what a lock is: the second one is told, and nothing is harmed. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectError } from '../../expect.js'
import { queue, semaphore } from '../../needs.js'
import { CAPACITY_ALL, type Claim } from '../../../store/contract.js'

export const mismatch = new Group('mismatch', [semaphore])

const MUTEX = { kind: 'mutex', capacity: 1, weight: 1 } as const
const PERMITS = { kind: 'semaphore', capacity: 3, weight: 1 } as const

async function assertRefused(context: Context, claim: Claim): Promise<void> {
  for (const enqueue of [true, false]) {
    await expectError('LOCK_MISMATCH', () => context.store.attempt(claim, { enqueue, tokens: 1 }))
  }
}

mismatch.test('another number of permits is refused while the lock is held', async (context) => {
  const holder = context.claim(PERMITS)
  await context.take(holder)
  await assertRefused(context, context.claim({ ...PERMITS, capacity: 4 }))
  await assertRefused(context, context.claim({ ...PERMITS, capacity: 2 }))
  assert.equal(await context.withdraw(holder), 'released')
})

mismatch.test('another kind is refused while the lock is held', async (context) => {
  const holder = context.claim(MUTEX)
  await context.take(holder)
  await assertRefused(context, context.claim({ kind: 'semaphore', capacity: 1, weight: 1 }))
  await assertRefused(
    context,
    context.claim({ kind: 'readWriteLock', capacity: CAPACITY_ALL, weight: CAPACITY_ALL }),
  )
  assert.equal(await context.withdraw(holder), 'released')
})

mismatch.test(
  'a refused claim harms neither holders nor waiters',
  async (context) => {
    const full = { ...PERMITS, weight: 3 }
    const [holder, waiter, next] = [context.claim(full), context.claim(full), context.claim(full)]
    await context.take(holder)
    await context.queue(waiter)
    await assertRefused(context, context.claim(MUTEX))
    await context.queue(next)
    const [renewed] = await context.store.renew([holder])
    assert.equal(renewed?.outcome, 'renewed')
    await context.withdraw(holder)
    await context.granted(waiter, context.slackMs)
    assert.equal((await context.attempt(next)).outcome, 'waiting')
  },
  { needs: [queue] },
)

mismatch.test('a refused claim is not in the lock', async (context) => {
  const [holder, refused] = [context.claim(PERMITS), context.claim(MUTEX)]
  await context.take(holder)
  await assertRefused(context, refused)
  assert.equal(await context.withdraw(refused), 'absent')
})

mismatch.test('an idle lock takes the shape of whoever comes next', async (context) => {
  const before = context.claim(PERMITS)
  await context.take(before)
  await context.withdraw(before)
  await context.take(context.claim(MUTEX))
})
