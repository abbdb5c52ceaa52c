/** Inspect: holders and waiters with their owners, weights and times. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { type Owner, UNREADABLE_OWNER } from 'holdfast/store'
import { leaseExpiry, queue, semaphore } from '../../needs.js'

export const inspect = new Group('inspect')

inspect.test(
  'inspect shows the owner, the weight and the times of a holder',
  async (context) => {
    const claim = context.claim({
      kind: 'semaphore',
      capacity: 5,
      weight: 2,
      owner: {
        clientId: 'the-client',
        host: 'a "host" \\ with quotes',
        pid: 4711,
        label: 'ünïcödé 🔒 label',
        group: { pgid: 4712, startTime: '123456789' },
        election: true,
        localWaiters: 2,
      },
    })
    await context.take(claim)
    await context.time.pass(30)
    const info = await context.inspect()
    assert.equal(info?.kind, 'semaphore')
    assert.equal(info?.capacity, 5)
    const [holder] = info?.holders ?? []
    assert.equal(holder?.claimId, claim.id)
    assert.deepEqual(holder?.owner, claim.owner)
    assert.equal(holder?.weight, 2)
    assert.equal(holder?.stolen, false)
    assert.ok((holder?.heldMs ?? 0) >= 20, `held for ${holder?.heldMs} ms`)
    const remainingMs = holder?.remainingMs ?? 0
    assert.ok(remainingMs > 0 && remainingMs <= claim.ttlMs, `remaining: ${remainingMs}`)
  },
  { needs: [semaphore] },
)

inspect.test(
  'inspect shows the TTL of the grant, then that of the latest renewal',
  async (context) => {
    const claim = context.claim()
    await context.take(claim)
    const ttlMs = async () => (await context.inspect())?.holders[0]?.ttlMs
    assert.equal(await ttlMs(), claim.ttlMs)
    const shorter = { ...claim, ttlMs: claim.ttlMs / 2 }
    assert.deepEqual(await context.store.renew([shorter]), [{ outcome: 'renewed' }])
    assert.equal(await ttlMs(), shorter.ttlMs)
  },
)

inspect.test(
  'inspect shows the token of a holder and the largest token so far',
  async (context) => {
    const { token } = await context.take(context.claim())
    const info = await context.inspect()
    assert.equal(info?.holders[0]?.token, token)
    if (info?.lastToken !== undefined) assert.ok(info.lastToken >= token)
  },
)

inspect.test(
  'inspect shows the token of the lease or none, through hand-offs inside a client',
  async (context) => {
    const mutex = (await context.locks()).mutex(context.name())
    const callers = Array.from({ length: 5 }, () => context.later(mutex.acquire()))
    for (const caller of callers) {
      const lease = await context.soon(caller)
      const { token } = lease
      const info = await context.inspect()
      const shown = info?.holders[0]?.token
      if (shown !== undefined) assert.equal(shown, token)
      if (info?.lastToken !== undefined) assert.ok(info.lastToken >= token)
      await lease.release()
    }
  },
)

inspect.test(
  'inspect shows waiters with their owners',
  async (context) => {
    const waiter = context.claim()
    await context.take(context.claim())
    await context.queue(waiter)
    const [shown] = (await context.inspect())?.waiters ?? []
    assert.equal(shown?.claimId, waiter.id)
    assert.deepEqual(shown?.owner, waiter.owner)
    assert.equal(shown?.weight, waiter.weight)
  },
  { needs: [queue] },
)

function claimsOf(list?: readonly { readonly claimId: string }[]): string[] | undefined {
  return list?.map(({ claimId }) => claimId)
}

inspect.test(
  'inspect shows the waiters up to the last of some claims, where that is asked',
  async (context) => {
    const gate = { kind: 'semaphore', capacity: 2 } as const
    const holders = [context.claim(gate), context.claim(gate)]
    for (const holder of holders) await context.take(holder)
    const waiters = Array.from({ length: 5 }, () => context.claim(gate))
    for (const waiter of waiters) await context.queue(waiter)
    const ids = waiters.map(({ id }) => id)
    const shown = async (waitersUpTo: readonly string[]): Promise<(string[] | undefined)[]> => {
      const locks = await context.store.inspect([context.name()], waitersUpTo)
      return [claimsOf(locks[0]?.holders)?.sort(), claimsOf(locks[0]?.waiters)]
    }
    const holding = holders.map(({ id }) => id).sort()
    assert.deepEqual(await shown([]), [holding, []])
    assert.deepEqual(await shown([ids[2] ?? '', ids[0] ?? '']), [holding, ids.slice(0, 3)])
    assert.deepEqual(await shown([ids[4] ?? '']), [holding, ids])
    assert.deepEqual(await shown(['no-claim', ...holding]), [holding, []])
  },
  { needs: [queue, semaphore] },
)

inspect.test('inspect does not show a lock that is free and has no waiters', async (context) => {
  assert.deepEqual(await context.store.inspect([context.name()]), [])
  const claim = context.claim()
  await context.take(claim)
  await context.withdraw(claim)
  assert.equal(await context.inspect(), undefined)
  assert.deepEqual(await context.inspectAll(context.name('')), [])
})

inspect.test(
  'inspect does not show a lease that has ended',
  async (context) => {
    await context.take(context.claim({ ttlMs: context.shortMs }))
    await context.time.eventually(
      'the expired lease is not shown',
      context.shortMs + context.slackMs,
      async () => {
        return (await context.inspect()) === undefined
      },
    )
  },
  { needs: [leaseExpiry] },
)

inspect.test('inspect changes nothing', async (context) => {
  const claim = context.claim()
  const before = await context.take(claim)
  for (let times = 0; times < 3; times += 1) await context.inspect()
  const after = await context.take(claim)
  assert.equal(after.token, before.token)
  assert.equal(await context.withdraw(claim), 'released')
})

inspect.test('inspect shows several locks, and leaves out those not in use', async (context) => {
  const [one, two, ended] = ['one', 'two', 'ended'].map((part) => context.name(part)) as [
    string,
    string,
    string,
  ]
  for (const lock of [one, two]) await context.take(context.claim({ lock }))
  const claim = context.claim({ lock: ended })
  await context.take(claim)
  await context.withdraw(claim)
  const locks = await context.store.inspect([one, context.name('unknown'), ended, two])
  assert.deepEqual(locks.map(({ lock }) => lock).sort(), [one, two])
  assert.deepEqual(await context.store.inspect([context.name('unknown')]), [])
  assert.deepEqual(await context.store.inspect([]), [])
})

inspect.test('list names every lock of a prefix, page by page', async (context) => {
  const expected = Array.from({ length: 23 }, (_, index) => context.name(`page-${index}`)).sort()
  for (const lock of expected) await context.take(context.claim({ lock }))
  await context.take(context.claim({ lock: context.name('other') }))
  for (const limit of [1, 5, 23, 100]) {
    const found = await context.list(context.name('page-'), limit)
    assert.deepEqual(found, expected, `pages of ${limit}`)
  }
})

inspect.test('list names each lock that stays in use while others change', async (context) => {
  const expected = Array.from({ length: 12 }, (_, index) => context.name(`page-${2 * index}`))
  for (const lock of expected) await context.take(context.claim({ lock }))
  let next = 1
  const change = async (): Promise<void> => {
    // Every second one is gone before the next page.
    const claim = context.claim({ lock: context.name(`page-${next}`) })
    await context.take(claim)
    if (next % 4 === 1) await context.withdraw(claim)
    next = (next + 2) % 1000
  }
  const found = new Set(await context.list(context.name('page-'), 3, change))
  assert.deepEqual(
    expected.filter((lock) => !found.has(lock)),
    [],
  )
})

inspect.test(
  'list names a lock with many waiters, and the locks behind it',
  async (context) => {
    const [long, next] = [context.name('queue-a'), context.name('queue-b')]
    await context.take(context.claim({ lock: long }))
    for (let count = 0; count < 5; count += 1) await context.queue(context.claim({ lock: long }))
    await context.take(context.claim({ lock: next }))
    assert.deepEqual(await context.list(context.name('queue-'), 1), [long, next])
  },
  { needs: [queue] },
)

inspect.test(
  'inspect shows a claim with an unreadable owner as unreadable, beside the others',
  async (context) => {
    const unreadable: readonly object[] = [
      {},
      { clientId: 'c', host: 'h', pid: '1' },
      { clientId: 'c', host: 'h', pid: 1, label: {} },
    ]
    const prefix = context.name()
    for (const [index, owner] of unreadable.entries()) {
      await context.take(context.claim({ lock: `${prefix}${index}`, owner: owner as Owner }))
    }
    const locks = [...(await context.inspectAll(prefix))].sort((one, other) =>
      one.lock < other.lock ? -1 : 1,
    )
    assert.deepEqual(
      locks.flatMap(({ holders }) => holders.map(({ owner }) => owner)),
      unreadable.map(() => UNREADABLE_OWNER),
    )
  },
)
