/** The queue: claims are granted in its order, and no claim overtakes a waiter. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectOutcome } from '../../expect.js'
import { queue as fair, readWriteLock, semaphore } from '../../needs.js'
import { CAPACITY_ALL, type Claim } from 'holdfast/store'

export const queue = new Group('queue', [fair])

const READER = { kind: 'readWriteLock', capacity: CAPACITY_ALL, weight: 1 } as const
const WRITER = { kind: 'readWriteLock', capacity: CAPACITY_ALL, weight: CAPACITY_ALL } as const

/**
 * Attempts each claim, and returns the indexes of those that are granted. The last in the queue
 * comes first, so that it can overtake if the store lets it.
 */
async function indexesOfHolders(context: Context, claims: readonly Claim[]): Promise<number[]> {
  const holding: number[] = []
  for (const [index, claim] of [...claims.entries()].toReversed()) {
    const { outcome } = await context.attempt(claim)
    if (outcome === 'granted') holding.unshift(index)
    else assert.equal(outcome, 'waiting')
  }
  return holding
}

/** Waits until exactly the expected claims hold: a store that pushes grants needs a moment. */
async function expectHolders(
  context: Context,
  claims: readonly Claim[],
  expected: readonly number[],
): Promise<void> {
  let holding: number[] = []
  await context.time
    .eventually('the queue moves up', context.slackMs, async () => {
      holding = await indexesOfHolders(context, claims)
      return holding.length >= expected.length
    })
    .catch(() => undefined)
  assert.deepEqual(
    holding,
    expected,
    `claims ${holding.join()} hold the lock, not ${expected.join()}`,
  )
}

queue.test('waiters are granted in the order in which they queued', async (context) => {
  const stores = await Promise.all([context.open(), context.open(), context.open()])
  const holder = context.claim()
  await context.take(holder)
  const waiters = Array.from({ length: 6 }, () => context.claim())
  for (const [index, waiter] of waiters.entries()) await context.queue(waiter, stores[index % 3])
  let before = holder
  while (waiters.length > 0) {
    await context.withdraw(before)
    await expectHolders(context, waiters, [0])
    before = waiters.shift() ?? before
  }
})

queue.test('a new claim does not overtake a waiter when the lock becomes free', async (context) => {
  const [holder, waiter, newcomer] = [context.claim(), context.claim(), context.claim()]
  await context.take(holder)
  await context.queue(waiter)
  await context.withdraw(holder)
  expectOutcome(await context.store.attempt(newcomer, { enqueue: false, tokens: 1 }), 'busy')
  await expectHolders(context, [waiter, newcomer], [0])
})

queue.test('a repeated attempt keeps its place in the queue', async (context) => {
  const [holder, first, second] = [context.claim(), context.claim(), context.claim()]
  await context.take(holder)
  await context.queue(first)
  await context.queue(second)
  await context.queue(first)
  await context.withdraw(holder)
  await expectHolders(context, [first, second], [0])
})

queue.test(
  'a waiter that leaves the middle of the queue keeps the order of the others',
  async (context) => {
    const claims = Array.from({ length: 5 }, () => context.claim())
    const [holder, first, leaving, third, fourth] = claims as [Claim, Claim, Claim, Claim, Claim]
    await context.take(holder)
    for (const claim of claims.slice(1)) await context.queue(claim)
    assert.equal(await context.withdraw(leaving), 'left')
    await context.withdraw(holder)
    await expectHolders(context, [first, third, fourth], [0])
    await context.withdraw(first)
    await expectHolders(context, [third, fourth], [0])
  },
)

queue.test('the next waiter moves up when the first leaves the queue', async (context) => {
  const [holder, leaving, next] = [context.claim(), context.claim(), context.claim()]
  await context.take(holder)
  await context.queue(leaving)
  await context.queue(next)
  await context.withdraw(leaving)
  await context.withdraw(holder)
  await expectHolders(context, [next], [0])
})

queue.test(
  'permits are granted up to the capacity',
  async (context) => {
    const claims = [2, 1, 1].map((weight) =>
      context.claim({ kind: 'semaphore', capacity: 3, weight }),
    )
    const [two, one, more] = claims as [Claim, Claim, Claim]
    await context.take(two)
    await context.take(one)
    await context.queue(more)
    await context.withdraw(one)
    await expectHolders(context, [two, more], [0, 1])
  },
  { needs: [semaphore] },
)

queue.test(
  'a small claim does not overtake a waiting big claim, even if it would fit',
  async (context) => {
    const permits = (weight: number): Claim =>
      context.claim({ kind: 'semaphore', capacity: 4, weight })
    const [held, big, small] = [permits(2), permits(3), permits(1)]
    await context.take(held)
    await context.queue(big)
    await context.queue(small)
    expectOutcome(await context.store.attempt(permits(1), { enqueue: false, tokens: 1 }), 'busy')
    await context.withdraw(held)
    await expectHolders(context, [big, small], [0, 1])
  },
  { needs: [semaphore] },
)

queue.test(
  'a stream of small claims does not starve a big claim',
  async (context) => {
    const permits = (weight: number): Claim =>
      context.claim({ kind: 'semaphore', capacity: 3, weight })
    const small = [permits(1), permits(1), permits(1)]
    for (const claim of small) await context.take(claim)
    const big = permits(3)
    await context.queue(big)
    for (const claim of small) {
      expectOutcome(await context.attempt(big), 'waiting')
      await context.queue(permits(1))
      await context.withdraw(claim)
    }
    await expectHolders(context, [big], [0])
  },
  { needs: [semaphore] },
)

queue.test(
  'the small claims behind a big claim are granted when it leaves the queue',
  async (context) => {
    const permits = (weight: number): Claim =>
      context.claim({ kind: 'semaphore', capacity: 4, weight })
    const [held, big, one, two] = [permits(2), permits(4), permits(1), permits(1)]
    await context.take(held)
    for (const claim of [big, one, two]) await context.queue(claim)
    assert.equal(await context.withdraw(big), 'left')
    await expectHolders(context, [held, one, two], [0, 1, 2])
  },
  { needs: [semaphore] },
)

queue.test(
  'readers hold together, and a writer holds alone',
  async (context) => {
    const readers = [context.claim(READER), context.claim(READER)]
    for (const reader of readers) await context.take(reader)
    const writer = context.claim(WRITER)
    await context.queue(writer)
    await expectHolders(context, [...readers, writer], [0, 1])
    await context.withdraw(readers[0] as Claim)
    expectOutcome(await context.attempt(writer), 'waiting')
    await context.withdraw(readers[1] as Claim)
    await expectHolders(context, [writer], [0])
    expectOutcome(
      await context.store.attempt(context.claim(READER), { enqueue: false, tokens: 1 }),
      'busy',
    )
    expectOutcome(
      await context.store.attempt(context.claim(WRITER), { enqueue: false, tokens: 1 }),
      'busy',
    )
  },
  { needs: [readWriteLock] },
)

queue.test(
  'readers do not overtake a waiting writer, and are granted together after it',
  async (context) => {
    const [first, writer, second, third] = [READER, WRITER, READER, READER].map((shape) =>
      context.claim(shape),
    )
    const claims = [first, writer, second, third] as [Claim, Claim, Claim, Claim]
    await context.take(claims[0])
    for (const claim of claims.slice(1)) await context.queue(claim)
    await expectHolders(context, claims, [0])
    await context.withdraw(claims[0])
    await expectHolders(context, claims.slice(1), [0])
    await context.withdraw(claims[1])
    await expectHolders(context, claims.slice(2), [0, 1])
  },
  { needs: [readWriteLock] },
)

queue.test(
  'writers and the readers between them are granted in the order of the queue',
  async (context) => {
    const claims = [WRITER, READER, WRITER, READER].map((shape) => context.claim(shape))
    await context.take(claims[0] as Claim)
    for (const claim of claims.slice(1)) await context.queue(claim)
    for (let rest = claims; rest.length > 0; rest = rest.slice(1)) {
      await expectHolders(context, rest, [0])
      await context.withdraw(rest[0] as Claim)
    }
  },
  { needs: [readWriteLock] },
)

queue.test('inspect shows the waiters in the order of the queue', async (context) => {
  const claims = Array.from({ length: 5 }, () => context.claim())
  await context.take(claims[0] as Claim)
  for (const claim of claims.slice(1)) await context.queue(claim)
  const info = await context.inspect()
  assert.deepEqual(
    info?.waiters.map(({ claimId }) => claimId),
    claims.slice(1).map(({ id }) => id),
  )
})
