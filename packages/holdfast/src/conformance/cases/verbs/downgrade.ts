/** Downgrade: a writer goes on as a reader, and lets the readers behind it in. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { expectOutcome } from '../../expect.js'
import {
  downgrade as canDowngrade,
  fencing,
  inspect,
  leaseExpiry,
  queue,
  readWriteLock,
} from '../../needs.js'
import { CAPACITY_ALL } from '../../../store/contract.js'

export const downgrade = new Group('downgrade', [readWriteLock, canDowngrade])

const READER = { kind: 'readWriteLock', capacity: CAPACITY_ALL, weight: 1 } as const
const WRITER = { kind: 'readWriteLock', capacity: CAPACITY_ALL, weight: CAPACITY_ALL } as const

downgrade.test('lets new readers in and keeps writers out', async (context) => {
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
  'lets the readers in who waited',
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
  'does not let readers overtake a writer who waited before them',
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

downgrade.test('may be repeated', async (context) => {
  const [writer, reader] = [context.claim(WRITER), context.claim(READER)]
  await context.take(writer)
  for (let times = 0; times < 3; times += 1)
    assert.equal(await context.store.downgrade(writer), true)
  await context.take(reader)
  await context.withdraw(writer)
  // A weight taken off twice would leave room for a writer here.
  expectOutcome(
    await context.store.attempt(context.claim(WRITER), { enqueue: false, tokens: 1 }),
    'busy',
  )
  await context.withdraw(reader)
  await context.take(context.claim(WRITER))
})

downgrade.test('is refused for a claim that holds nothing', async (context) => {
  const released = context.claim(WRITER)
  await context.take(released)
  await context.withdraw(released)
  assert.equal(await context.store.downgrade(released), false)
  assert.equal(await context.store.downgrade(context.claim(WRITER)), false)
  await context.take(context.claim(WRITER))
})

downgrade.test(
  'is refused for a lease that has ended, and leaves the next writer alone',
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
  'keeps the token and the lease, and shows the new weight',
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
  { needs: [inspect, fencing] },
)
