/** Clients that disagree on kind or capacity: the later claim is refused and changes nothing. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectError } from '../../expect.js'
import { queue, readWriteLock, semaphore } from '../../needs.js'
import { CAPACITY_ALL, type Claim } from 'holdfast/store'

export const mismatch = new Group('mismatch', [semaphore])

const WHOLE = { capacity: CAPACITY_ALL, weight: CAPACITY_ALL } as const
const MUTEX = { kind: 'mutex', ...WHOLE } as const
const WRITER = { kind: 'readWriteLock', ...WHOLE } as const
const READER = { ...WRITER, weight: 1 } as const
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
  await assertRefused(context, context.claim({ kind: 'semaphore', ...WHOLE }))
  assert.equal(await context.withdraw(holder), 'released')
})

mismatch.test(
  'a mutex is the writer of a readers-writer lock',
  async (context) => {
    const [mutex, reader, later, writer] = [MUTEX, READER, READER, WRITER].map((as) =>
      context.claim(as),
    )
    await context.take(mutex!)
    for (const claim of [reader!, later!, writer!]) {
      const answer = await context.store.attempt(claim, { enqueue: false, tokens: 1 })
      assert.equal(answer.outcome, 'busy')
    }
    await context.withdraw(mutex!)
    await context.take(reader!)
    await context.take(later!)
    const refused = await context.store.attempt(context.claim(MUTEX), { enqueue: false, tokens: 1 })
    assert.equal(refused.outcome, 'busy')
  },
  { needs: [readWriteLock] },
)

mismatch.test(
  'mutexes, writers and readers wait in one queue',
  async (context) => {
    const [holder, mutex, reader, last] = [READER, MUTEX, READER, WRITER].map((as) =>
      context.claim(as),
    )
    await context.take(holder!)
    await context.queue(mutex!)
    await context.queue(reader!)
    await context.queue(last!)
    await context.withdraw(holder!)
    await context.granted(mutex!, context.slackMs)
    assert.equal((await context.attempt(reader!)).outcome, 'waiting')
    await context.withdraw(mutex!)
    await context.granted(reader!, context.slackMs)
    assert.equal((await context.attempt(last!)).outcome, 'waiting')
  },
  { needs: [readWriteLock, queue] },
)

mismatch.test(
  'a refused claim changes neither holders nor waiters',
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

mismatch.test('a refused claim leaves nothing in the store', async (context) => {
  const [holder, refused] = [context.claim(PERMITS), context.claim(MUTEX)]
  await context.take(holder)
  await assertRefused(context, refused)
  assert.equal(await context.withdraw(refused), 'absent')
})

mismatch.test('an idle lock accepts another kind and capacity', async (context) => {
  const before = context.claim(PERMITS)
  await context.take(before)
  await context.withdraw(before)
  await context.take(context.claim(MUTEX))
})
