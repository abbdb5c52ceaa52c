/** The other kinds of locks, as far as they depend on the store. */
import assert from 'node:assert/strict'
import type { Semaphore } from 'holdfast'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectError } from '../../expect.js'
import { queue, readWriteLock, semaphore } from '../../needs.js'

export const kinds = new Group('kinds')

kinds.test(
  'a semaphore grants permits by weight',
  async (context) => {
    const options = { permits: 3 }
    const one = (await context.locks()).semaphore(context.name(), options)
    const two = (await context.locks()).semaphore(context.name(), options)
    const heavy = await context.soon(one.acquire({ weight: 2 }))
    assert.equal(await context.soon(two.tryAcquire({ weight: 2 })), undefined)
    const light = await context.soon(two.tryAcquire())
    assert.equal(light?.held, true)
    await heavy.release()
    assert.ok(await context.soon(two.tryAcquire({ weight: 2 })))
  },
  { needs: [semaphore] },
)

kinds.test(
  'a weight above the permits is refused without a request',
  async (context) => {
    const { store, locks } = await context.faulty(() => ({}))
    const gpu = locks.semaphore(context.name(), { permits: 3 })
    for (const weight of [4, 0, -1, 1.5, NaN, Infinity]) {
      await expectError('LOCK_USAGE', () => gpu.acquire({ weight }))
    }
    for (const permits of [0, -1, 1.5, NaN, Infinity]) {
      await expectError('LOCK_USAGE', () => locks.semaphore(context.name(), { permits }))
    }
    assert.equal(store.sent.length, 0)
  },
  { needs: [semaphore] },
)

kinds.test(
  'a holder that asks for its lock as another kind gets an error instead of a deadlock',
  async (context) => {
    const locks = await context.locks()
    const permits = (count: number): Semaphore =>
      locks.semaphore(context.name(), { permits: count, reentrant: true })
    const mutex = locks.mutex(context.name(), { reentrant: true })
    const pairs = [
      [permits(3), permits(4)],
      [permits(3), mutex],
      [mutex, permits(3)],
    ] as const
    for (const [outer, inner] of pairs) {
      const running = outer.run(async () => {
        await expectError('LOCK_MISMATCH', () => inner.run(() => undefined))
        await expectError('LOCK_MISMATCH', () => inner.acquire())
      })
      await context.soon(running)
    }
  },
  { needs: [semaphore] },
)

kinds.test(
  'clients that disagree on permits or kind get LOCK_MISMATCH',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const held = await context.soon(one.semaphore(context.name(), { permits: 3 }).acquire())
    const disagreeing = two.semaphore(context.name(), { permits: 4 })
    await expectError('LOCK_MISMATCH', () => context.soon(disagreeing.acquire()))
    await expectError('LOCK_MISMATCH', () => context.soon(two.mutex(context.name()).tryAcquire()))
    assert.equal(held.held, true)
    assert.equal(await context.soon(held.release()), 'released')
  },
  { needs: [semaphore] },
)

kinds.test(
  'a waiting writer is granted before later readers',
  async (context) => {
    const clients = await Promise.all([context.locks(), context.locks(), context.locks()])
    const [one, two, three] = clients.map((locks) => locks.readWriteLock(context.name()))
    const first = await context.soon(one!.read.acquire())
    const order: string[] = []
    const writing = two!.write.run(() => void order.push('writer'))
    await context.waiters(1)
    const reading = three!.read.run(() => void order.push('reader'))
    await context.waiters(2)
    assert.deepEqual(order, [])
    await first.release()
    await context.time.within(Promise.all([writing, reading]), 2000 + context.slackMs, 'both turns')
    assert.deepEqual(order, ['writer', 'reader'])
  },
  { needs: [readWriteLock, queue] },
)

kinds.test(
  'a writer that downgrades lets readers in and stays a reader',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const writer = await context.soon(one.readWriteLock(context.name()).write.acquire())
    assert.equal(await context.soon(two.readWriteLock(context.name()).read.tryAcquire()), undefined)
    await context.soon(writer.downgrade())
    const reader = await context.soon(two.readWriteLock(context.name()).read.acquire())
    assert.equal(writer.held && reader.held, true)
    assert.equal(
      await context.soon(two.readWriteLock(context.name()).write.tryAcquire()),
      undefined,
    )
    assert.equal(await context.soon(writer.release()), 'released')
    assert.equal(reader.held, true)
  },
  { needs: [readWriteLock] },
)

kinds.test('a multi-lock takes all of its locks or none', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const names = ['a', 'b', 'c'].map((part) => context.name(part))
  const blocker = await context.soon(one.mutex(context.name('b')).acquire())
  const all = two.multi(names.map((name) => two.mutex(name)))
  assert.equal(await context.soon(all.tryAcquire()), undefined)
  await expectError('LOCK_TIMEOUT', () =>
    context.time.within(all.acquire({ waitMs: 100 }), 100 + context.slackMs, 'the end of the wait'),
  )
  for (const name of [names[0], names[2]]) {
    // The claims are withdrawn in the background.
    const free = await context.soon(one.mutex(name ?? '').acquire({ waitMs: context.slackMs }))
    await context.soon(free.release())
  }
  await blocker.release()
  const lease = await context.soon(all.acquire())
  assert.equal(lease.leases.length, 3)
  for (const name of names)
    assert.equal(await context.soon(one.mutex(name).tryAcquire()), undefined)
  assert.equal(await context.soon(lease.release()), 'released')
})

kinds.test('multi-locks in opposite order do not wait for each other', async (context) => {
  const runs = [
    ['a', 'b', 'c'],
    ['c', 'b', 'a'],
    ['b', 'a'],
  ].map(async (parts) => {
    const locks = await context.locks()
    const all = locks.multi(parts.map((part) => locks.mutex(context.name(part))))
    for (let round = 0; round < 5; round += 1) await all.run((lease) => assert.ok(lease.held))
  })
  await context.time.within(Promise.all(runs), 5000 + context.slackMs, 'the end of all runs')
})

kinds.test('the stripes of a striped lock are independent locks', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const options = { stripes: 8 }
  const stripe = one.striped(context.name(), options).indexOf('user-1')
  const held = await context.soon(one.striped(context.name(), options).for('user-1').acquire())
  const others = two.striped(context.name(), options)
  assert.equal(await context.soon(others.for('user-1').tryAcquire()), undefined)
  assert.ok(await context.soon(others.at((stripe + 1) % 8).tryAcquire()))
  await held.release()
})

kinds.test('one of many single flights loads', async (context) => {
  let loads = 0
  let value: string | undefined
  const flights = Array.from({ length: 6 }, async () => {
    const locks = await context.locks()
    return locks.singleFlight(context.name()).run(
      async () => {
        loads += 1
        await pause(context)
        value = 'loaded'
        return value
      },
      { read: () => value },
    )
  })
  const values = await context.time.within(
    Promise.all(flights),
    5000 + context.slackMs,
    'all values',
  )
  assert.deepEqual(new Set(values), new Set(['loaded']))
  assert.equal(loads, 1)
})

function pause({ time }: Context): Promise<void> {
  return new Promise((resolve) => void time.clock.timer(20, resolve))
}
