/** Downgrade: a writer becomes a reader, and the readers behind it are granted. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { expectOutcome } from '../../expect.js'
import { leaseExpiry, queue, readWriteLock } from '../../needs.js'
import { CAPACITY_ALL } from 'holdfast/store'

export const downgrade = new Group('downgrade', [readWriteLock])

const READER = { kind: 'readWriteLock', capacity: CAPACITY_ALL, weight: 1 } as const
const WRITER = { kind: 'readWriteLock', capacity: CAPACITY_ALL, weight: CAPACITY_ALL } as const

downgrade.test('a downgraded writer lets new readers in and keeps writers out', async (context) => {
  const writer = context.claim(WRITER)
  await context.take(writer)
  assert.equal(await context.store.downgrade(writer), true)
  await context.take(context.claim(READER))
  expectOutcome(
    await context.store.attempt(context.claim(WRITER), { enqueue: false, tokens: 1 }),
    'busy',
  )
})

downgrade.test(
  'a downgrade grants the readers that wait',
  async (context) => {
    const [writer, one, two] = [context.claim(WRITER), context.claim(READER), context.claim(READER)]
    await context.take(writer)
    await context.queue(one)
    await context.queue(two)
    await context.store.downgrade(writer)
    await context.granted(one, context.slackMs)
    await context.granted(two, context.slackMs)
  },
  { needs: [queue] },
)

downgrade.test(
  'a downgrade grants no reader behind a waiting writer',
  async (context) => {
    const [writer, next, reader] = [
      context.claim(WRITER),
      context.claim(WRITER),
      context.claim(READER),
    ]
    await context.take(writer)
    await context.queue(next)
    await context.queue(reader)
    await context.store.downgrade(writer)
    expectOutcome(await context.attempt(reader), 'waiting')
    await context.withdraw(writer)
    await context.granted(next, context.slackMs)
  },
  { needs: [queue] },
)

downgrade.test('a repeated downgrade succeeds', async (context) => {
  const [writer, reader] = [context.claim(WRITER), context.claim(READER)]
  await context.take(writer)
  for (let times = 0; times < 3; times += 1)
    assert.equal(await context.store.downgrade(writer), true)
  await context.take(reader)
  await context.withdraw(writer)
  // A store that subtracts the weight twice would have room for a writer here.
  expectOutcome(
    await context.store.attempt(context.claim(WRITER), { enqueue: false, tokens: 1 }),
    'busy',
  )
  await context.withdraw(reader)
  await context.take(context.claim(WRITER))
})

downgrade.test('a downgrade of a claim without a grant is refused', async (context) => {
  const released = context.claim(WRITER)
  await context.take(released)
  await context.withdraw(released)
  assert.equal(await context.store.downgrade(released), false)
  assert.equal(await context.store.downgrade(context.claim(WRITER)), false)
  await context.take(context.claim(WRITER))
})

downgrade.test(
  'a downgrade of an ended lease is refused, and leaves the next writer unchanged',
  async (context) => {
    const [stale, writer] = [
      context.claim({ ...WRITER, ttlMs: context.shortMs }),
      context.claim(WRITER),
    ]
    await context.take(stale)
    await context.granted(writer, context.shortMs + context.slackMs)
    assert.equal(await context.store.downgrade(stale), false)
    expectOutcome(
      await context.store.attempt(context.claim(READER), { enqueue: false, tokens: 1 }),
      'busy',
    )
  },
  { needs: [leaseExpiry] },
)

downgrade.test(
  'a downgrade keeps the token and the lease, and inspect shows the new weight',
  async (context) => {
    const writer = context.claim(WRITER)
    const { token } = await context.take(writer)
    await context.store.downgrade(writer)
    const holder = (await context.inspect())?.holders[0]
    assert.equal(holder?.token, token)
    assert.equal(holder?.weight, 1)
    const [renewed] = await context.store.renew([{ ...writer, weight: 1 } as typeof writer])
    assert.equal(renewed?.outcome, 'renewed')
  },
)
