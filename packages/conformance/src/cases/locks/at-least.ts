/** Runs after which the lock stays taken: `run(fn, { atLeastMs })` and `oncePerTick`. */
import assert from 'node:assert/strict'
import type { MultiLease, Mutex } from 'holdfast'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { codeOf, expectError, outcomeOf } from '../../expect.js'
import { keeps, mustNotRun, readWriteLock } from '../../needs.js'

export const atLeast = new Group('at least', [keeps])

/** Short, and far from the TTL of the leases. */
function keptMs(context: Context): number {
  return Math.max(1_000, context.shortMs)
}

/** Fails when the lock is free before `freeAtMs`. A later answer says nothing. */
async function assertTaken({ time }: Context, mutex: Mutex, freeAtMs: number): Promise<void> {
  const lease = await mutex.tryAcquire()
  if (time.nowMs() < freeAtMs) assert.equal(lease, undefined)
  await lease?.release()
}

/**
 * Waits until the lock is free, and fails when that is before or long after `freeAtMs`. The time
 * counts from the grant in the store, and the answer with it may be late. The caller knows only
 * that the grant came after its request.
 */
async function assertFreeAt(context: Context, freeAtMs: number): Promise<void> {
  const { time } = context
  const mutex = (await context.locks()).mutex(context.name())
  const limitMs = freeAtMs - time.nowMs() + 1_000 + context.slackMs
  const lease = await time.within(mutex.acquire(), limitMs, 'the lock that was kept')
  assert.ok(time.nowMs() >= freeAtMs, `it was free ${freeAtMs - time.nowMs()} ms early`)
  await lease.release()
}

atLeast.test('a run that ends early leaves the lock taken', async (context) => {
  const { time } = context
  const locks = await context.locks()
  const atLeastMs = keptMs(context)
  const askedMs = time.nowMs()
  const freeAtMs = askedMs + atLeastMs - 1
  await locks.mutex(context.name()).run(() => undefined, { atLeastMs })
  await assertTaken(context, (await context.locks()).mutex(context.name()), freeAtMs)
  await assertTaken(context, locks.mutex(context.name()), freeAtMs)
  await locks.close()
  await assertFreeAt(context, freeAtMs)
})

atLeast.test('work that fails, or releases its lease, leaves the lock taken', async (context) => {
  const { time } = context
  const mutex = (await context.locks()).mutex(context.name())
  const askedMs = time.nowMs()
  const failing = mutex.run(
    async (lease) => {
      assert.equal(await lease.release(), 'released')
      throw new TypeError('the work failed')
    },
    { atLeastMs: keptMs(context) },
  )
  await assert.rejects(failing, TypeError)
  await assertFreeAt(context, askedMs + keptMs(context) - 1)
})

atLeast.test(
  'work that takes longer than atLeastMs frees the lock when it ends',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const atLeastMs = 50
    await one.mutex(context.name()).run(() => context.time.pass(2 * atLeastMs), { atLeastMs })
    const lease = await context.soon(two.mutex(context.name()).acquire())
    assert.equal(await lease.release(), 'released')
  },
)

atLeast.test('a lease of a caller that waited is kept as well', async (context) => {
  const { time } = context
  const [one, two] = [await context.locks(), await context.locks()]
  const first = await one.mutex(context.name()).acquire()
  const atLeastMs = keptMs(context)
  const kept = two.mutex(context.name()).run(() => undefined, { atLeastMs })
  await time.pass(50)
  const freedMs = time.nowMs()
  await first.release()
  await time.within(kept, 2_000 + context.slackMs, 'the waiter')
  await assertFreeAt(context, freedMs + atLeastMs - 1)
})

atLeast.test('several locks as one are kept from the last grant on', async (context) => {
  const { time } = context
  const [one, two] = [await context.locks(), await context.locks()]
  const atLeastMs = keptMs(context)
  const last = await one.mutex(context.name('z')).acquire()
  const both = two.multi([two.mutex(context.name('z')), two.mutex(context.name())])
  const work = (lease: MultiLease): void => {
    assert.ok(lease.remainingMs >= atLeastMs, 'the end of the process would free a lock')
  }
  const waiting = context.later(both.run(work, { atLeastMs, ttlMs: atLeastMs }))
  await time.pass(1_200)
  const freedMs = time.nowMs()
  await last.release()
  await time.within(waiting, 2_000 + context.slackMs, 'both locks')
  await two.close()
  await assertTaken(context, one.mutex(context.name('z')), freedMs + atLeastMs - 1)
  await assertFreeAt(context, freedMs + atLeastMs - 1)
})

atLeast.test('several locks that were never all there are not kept', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const last = await one.mutex(context.name('z')).acquire()
  const both = two.multi([two.mutex(context.name('z')), two.mutex(context.name())])
  const options = { atLeastMs: 60_000, waitMs: 50 }
  const late = outcomeOf(both.run(mustNotRun, options))
  await context.time.pass(50)
  assert.equal(codeOf(await context.soon(late)), 'LOCK_TIMEOUT')
  const lease = await context.soon(one.mutex(context.name()).acquire())
  assert.equal(await lease.release(), 'released')
  assert.equal(await last.release(), 'released')
})

atLeast.test('a TTL that ends before atLeastMs is refused', async (context) => {
  const mutex = (await context.locks()).mutex(context.name())
  const atLeastMs = keptMs(context) + 2_000
  await mutex.run(
    async (lease) => {
      await expectError('LOCK_USAGE', () => lease.renew({ ttlMs: keptMs(context) }))
      await lease.renew({ ttlMs: 2 * atLeastMs })
      assert.equal(lease.held, true)
    },
    { atLeastMs },
  )
})

atLeast.test('a lease that is kept lasts as long as a renewal asks for', async (context) => {
  const mutex = (await context.locks()).mutex(context.name())
  await mutex.run(
    async (lease) => {
      const longerMs = Math.ceil(lease.remainingMs) + 2_000
      await lease.renew({ ttlMs: 2 * longerMs })
      await lease.ensure(longerMs)
    },
    { atLeastMs: keptMs(context) },
  )
})

atLeast.test(
  'a writer that is kept becomes a reader',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const { write } = one.readWriteLock(context.name())
    await write.run(
      async (lease) => {
        await lease.downgrade()
        const reader = await context.soon(two.readWriteLock(context.name()).read.acquire())
        assert.equal(lease.held, true)
        await reader.release()
      },
      { atLeastMs: keptMs(context) },
    )
  },
  { needs: [readWriteLock] },
)

atLeast.test('one of two replicas works in a tick', async (context) => {
  const [one, two] = [await context.locks(), await context.locks({ label: 'second replica' })]
  const options = { atLeastMs: keptMs(context) }
  const first = await one.oncePerTick(context.name(), (lease) => lease.held, options)
  assert.deepEqual(first, { ran: true, value: true })
  const second = await context.soon(two.oncePerTick(context.name(), mustNotRun, options))
  assert.equal(second.ran, false)
  assert.equal(second.holder?.owner.pid, process.pid)
})

atLeast.test('atLeastMs that makes no sense is refused', async (context) => {
  const locks = await context.locks()
  const mutex = locks.mutex(context.name())
  for (const atLeastMs of [0, -1, NaN, Infinity, '5' as unknown as number]) {
    await expectError('LOCK_USAGE', () => mutex.run(mustNotRun, { atLeastMs }))
    await expectError('LOCK_USAGE', () => locks.multi([mutex]).run(mustNotRun, { atLeastMs }))
    await expectError('LOCK_USAGE', () =>
      locks.oncePerTick(context.name(), mustNotRun, { atLeastMs }),
    )
  }
  const renewed = { atLeastMs: 100, renew: true }
  await expectError('LOCK_USAGE', () => mutex.run(mustNotRun, renewed))
  await expectError('LOCK_USAGE', () => locks.multi([mutex]).run(mustNotRun, renewed))
  await mutex.run(async () => {
    const multi = locks.multi([mutex])
    await expectError('LOCK_USAGE', () => multi.run(mustNotRun, { atLeastMs: 100 }))
    await expectError('LOCK_USAGE', () => mutex.run(() => undefined, { atLeastMs: 100 }))
  })
})
