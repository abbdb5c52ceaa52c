/** Leases of the public API: acquiring, holding, renewing, releasing. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { slowAnswers } from '../../context.js'
import { expectError } from '../../expect.js'

export const lease = new Group('lease')

lease.test('acquire resolves to a lease that is held until its release', async (context) => {
  const locks = await context.locks()
  const held = await context.soon(locks.mutex(context.name()).acquire())
  assert.equal(held.held, true)
  assert.equal(held.name, context.name())
  assert.ok(held.remainingMs > 0 && held.remainingMs <= context.longMs)
  assert.equal(held.signal.aborted, false)
  held.assertHeld()
  assert.equal(await context.soon(held.release()), 'released')
  assert.equal(held.held, false)
  assert.equal(held.remainingMs, 0)
  assert.equal(
    await context.soon(held.release()),
    'released',
    'a repeated release has another outcome',
  )
})

lease.test(
  'tryAcquire resolves to undefined while another client holds the lock',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const held = await context.soon(one.mutex(context.name()).acquire())
    assert.equal(await context.soon(two.mutex(context.name()).tryAcquire()), undefined)
    assert.equal(await context.soon(one.mutex(context.name()).tryAcquire()), undefined)
    await context.soon(held.release())
    const next = await context.soon(two.mutex(context.name()).tryAcquire())
    assert.equal(next?.held, true)
  },
)

lease.test(
  'run holds the lock while its callback works and resolves to its result',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const value = await context.soon(
      one.mutex(context.name()).run(async (inside) => {
        assert.equal(inside.held, true)
        assert.equal(await two.mutex(context.name()).tryAcquire(), undefined)
        return 42
      }),
    )
    assert.equal(value, 42)
    assert.ok(await context.soon(two.mutex(context.name()).tryAcquire()))
  },
)

lease.test('run releases the lock when its callback throws', async (context) => {
  const locks = await context.locks()
  const failure = new Error('the work failed')
  const run = locks.mutex(context.name()).run(() => Promise.reject(failure))
  await assert.rejects(context.soon(run), failure)
  assert.ok(await context.soon((await context.locks()).mutex(context.name()).tryAcquire()))
})

lease.test('a lease is released when its scope ends', async (context) => {
  const locks = await context.locks()
  {
    await using held = await context.soon(locks.mutex(context.name()).acquire())
    assert.equal(held.held, true)
  }
  assert.ok(await context.soon((await context.locks()).mutex(context.name()).tryAcquire()))
})

lease.test('lease.renew changes the TTL, in both directions', async (context) => {
  const [locks, other] = [await context.locks(), await context.locks()]
  const lock = locks.mutex(context.name(), { ttlMs: context.longMs / 2 })
  const held = await context.soon(lock.acquire())
  for (const ttlMs of [context.longMs, context.longMs / 4]) {
    await context.soon(held.renew({ ttlMs }))
    assert.ok(held.remainingMs <= ttlMs, `${held.remainingMs} ms remain of ${ttlMs}`)
    assert.ok(held.remainingMs > ttlMs / 2, `${held.remainingMs} ms remain of ${ttlMs}`)
  }
  await context.soon(held.ensure(context.longMs / 8))
  assert.equal(await other.mutex(context.name()).tryAcquire(), undefined)
  assert.equal(await context.soon(held.release()), 'released')
  assert.ok(await context.soon(other.mutex(context.name()).tryAcquire()))
})

lease.test('lease.renew renews in the store', async (context) => {
  const locks = await context.locks()
  const held = await context.soon(locks.mutex(context.name(), { renew: false }).acquire())
  await context.time.pass(60)
  // Compares when the lease ends, since the renewal may take longer than the time that passed.
  const endMs = (): number => context.time.nowMs() + held.remainingMs
  const beforeMs = endMs()
  await context.soon(held.renew())
  assert.ok(endMs() >= beforeMs + 50, 'the renewal did not extend the lease')
  await context.soon(held.release())
  await expectError('LOCK_USAGE', () => held.renew())
})

lease.test(
  'tokens grow from lease to lease, within a client and between clients',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    let last = 0n
    for (const locks of [one, one, two, one, two, two]) {
      const held = await context.soon(locks.mutex(context.name()).acquire())
      const { token } = held
      assert.equal(typeof token, 'bigint')
      assert.ok(token > last, `token ${token} came after ${last}`)
      last = token
      await context.soon(held.release())
    }
  },
)

lease.test(
  'a nested run re-enters without a request when the lock is reentrant',
  async (context) => {
    const { store, locks } = await context.faulty(() => ({}), slowAnswers(context))
    const mutex = locks.mutex(context.name(), { reentrant: true })
    const nested = mutex.run(() => mutex.run(() => mutex.run((inner) => inner.held)))
    assert.equal(await context.soon(nested), true)
    assert.equal(store.count('attempt'), 1)
    assert.ok(await context.soon((await context.locks()).mutex(context.name()).tryAcquire()))
  },
)

lease.test('a nested run fails at once when the lock is not reentrant', async (context) => {
  const locks = await context.locks()
  const mutex = locks.mutex(context.name())
  await expectError('LOCK_USAGE', () => context.soon(mutex.run(() => mutex.run(() => undefined))))
  assert.ok(await context.soon(mutex.tryAcquire()), 'the outer run did not release the lock')
})

lease.test(
  'a lease with renew: false has its whole TTL at the hand-out, even after a wait',
  async (context) => {
    const ttlMs = context.longMs
    const [one, two] = [await context.locks(), await context.locks({ ttlMs, renew: false })]
    const held = await context.soon(one.mutex(context.name()).acquire())
    const handOut = two
      .mutex(context.name())
      .acquire()
      .then(({ remainingMs }) => context.time.nowMs() + remainingMs)
    await context.time.pass(1500)
    const releasedMs = context.time.nowMs()
    // The answer to the release may arrive long after the grant.
    const [endMs] = await context.soon(Promise.all([handOut, held.release()]))
    assert.ok(
      endMs - releasedMs >= 0.97 * ttlMs,
      `it ends ${endMs - releasedMs} ms after the release, with a TTL of ${ttlMs} ms`,
    )
  },
)

lease.test('callers of one client are granted in the order of their calls', async (context) => {
  const [one, two] = [await context.locks(), await context.locks({ fairness: 'fifo' })]
  const held = await context.soon(one.mutex(context.name()).acquire())
  const order: number[] = []
  const all = Array.from({ length: 10 }, (_, index) =>
    two.mutex(context.name()).run(() => void order.push(index)),
  )
  await context.time.pass(context.shortMs)
  await context.soon(held.release())
  await context.soon(Promise.all(all))
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  )
})
