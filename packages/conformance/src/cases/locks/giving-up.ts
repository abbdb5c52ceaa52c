/** Waits that end without the lock, in every state, and leave nothing in the store. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { codeOf, expectError, outcomeOf } from '../../expect.js'
import { Gate, planFor, planForFirst } from 'holdfast/testing'
import { queue } from '../../needs.js'
import type { Locks } from 'holdfast'

export const givingUp = new Group('giving up')

/** Queues a new client behind `behind` others, and notes in `order` when it is granted. */
async function queueUp(
  context: Context,
  turns: Promise<void>[],
  order: string[],
  who: string,
  behind = 0,
): Promise<void> {
  const locks = await context.locks({ fairness: 'fifo' })
  const turn = locks.mutex(context.name()).run(() => void order.push(who))
  turn.catch(() => undefined)
  turns.push(turn)
  await context.waiters(behind + 1)
}

givingUp.test('a wait ends after waitMs with a LockTimeoutError', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const held = await context.soon(one.mutex(context.name()).acquire())
  const sentMs = context.time.nowMs()
  await expectError('LOCK_TIMEOUT', () =>
    context.time.within(
      two.mutex(context.name()).acquire({ waitMs: 150 }),
      150 + context.slackMs,
      'the end of the wait',
    ),
  )
  assert.ok(context.time.nowMs() - sentMs >= 149, 'no wait ends early')
  await context.soon(held.release())
  await freeSoon(context)
})

givingUp.test('waitMs 0 sends one attempt', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  await context.soon(one.mutex(context.name()).acquire())
  await expectError('LOCK_TIMEOUT', () =>
    context.soon(two.mutex(context.name()).acquire({ waitMs: 0 })),
  )
})

givingUp.test('an aborted wait rejects with the reason of its signal', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const held = await context.soon(one.mutex(context.name()).acquire())
  const controller = new AbortController()
  const outcome = outcomeOf(two.mutex(context.name()).acquire({ signal: controller.signal }))
  await context.time.pass(50)
  const reason = new Error('the caller no longer wants it')
  controller.abort(reason)
  assert.deepEqual(await context.soon(outcome), { error: reason })
  await context.soon(held.release())
  await freeSoon(context)
})

givingUp.test(
  'a waiter that gives up keeps the order of the other waiters',
  async (context) => {
    const holder = await (await context.locks()).mutex(context.name()).acquire()
    const order: string[] = []
    const controller = new AbortController()
    const turns: Promise<void>[] = []
    await queueUp(context, turns, order, 'first')
    const quitter = await context.locks({ fairness: 'fifo' })
    const quit = outcomeOf(quitter.mutex(context.name()).acquire({ signal: controller.signal }))
    await context.waiters(2)
    await queueUp(context, turns, order, 'second', 2)
    controller.abort()
    await context.soon(quit)
    await context.waiters(2)
    await holder.release()
    await context.time.within(Promise.all(turns), 2000 + context.slackMs, 'the turns of the others')
    assert.deepEqual(order, ['first', 'second'])
  },
  { needs: [queue] },
)

givingUp.test(
  'a waiter that gives up before its attempt arrived leaves nothing in the store',
  async (context) => {
    const holder = await (await context.locks()).mutex(context.name()).acquire()
    const order: string[] = []
    const turns: Promise<void>[] = []
    await queueUp(context, turns, order, 'first')
    const gate = new Gate()
    const quitter = await context.faulty(planForFirst('attempt', { holdRequest: gate.opened }))
    const controller = new AbortController()
    const quit = outcomeOf(
      quitter.locks.mutex(context.name()).acquire({ signal: controller.signal }),
    )
    await context.time.pass(20)
    controller.abort()
    await context.soon(quit)
    await queueUp(context, turns, order, 'second', 1)
    // Its attempt arrives now, after its own withdraw.
    gate.open()
    await context.time.pass(20)
    await context.waiters(2)
    await holder.release()
    await context.time.within(Promise.all(turns), 2000 + context.slackMs, 'the turns of the others')
    assert.deepEqual(order, ['first', 'second'])
  },
  { needs: [queue] },
)

givingUp.test(
  'a waiter that gives up as it is granted passes the lock on',
  async (context) => {
    const holder = await (await context.locks()).mutex(context.name()).acquire()
    const gate = new Gate()
    let holdsReplies = false
    const quitter = await context.faulty((message) => {
      if (message.verb === 'wake') return { drop: 'request' }
      return holdsReplies && message.verb === 'attempt' ? { holdReply: gate.opened } : {}
    })
    const controller = new AbortController()
    const quit = outcomeOf(
      quitter.locks.mutex(context.name()).acquire({ signal: controller.signal }),
    )
    await context.waiters(1)
    // Its earlier requests are answered before the release, since the next client needs several
    // messages to queue.
    holdsReplies = true
    const order: string[] = []
    const turns: Promise<void>[] = []
    await queueUp(context, turns, order, 'next', 1)
    await holder.release()
    // The store granted its claim, and the client does not know.
    controller.abort(new Error('too late'))
    assert.equal(codeOf(await context.soon(quit)), 'Error: too late')
    gate.open()
    await context.time.within(Promise.all(turns), 2000 + context.slackMs, 'the turn of the next')
    assert.deepEqual(order, ['next'])
    assert.equal(await context.inspect(), undefined, 'a claim keeps the lock in the end')
  },
  { needs: [queue] },
)

givingUp.test(
  'a waiter that gives up does not end the waits of other callers of its client',
  async (context) => {
    const holder = await (await context.locks()).mutex(context.name()).acquire()
    const locks = await context.locks()
    const order: number[] = []
    const controller = new AbortController()
    const waits = [0, 1, 2, 3].map((number) => {
      const options = number % 2 === 0 ? { signal: controller.signal } : {}
      return outcomeOf(locks.mutex(context.name()).run(() => void order.push(number), options))
    })
    await context.time.pass(30)
    controller.abort()
    await holder.release()
    await context.time.within(Promise.all(waits), 2000 + context.slackMs, 'the end of all waits')
    assert.deepEqual(order, [1, 3])
    await freeSoon(context)
  },
)

givingUp.test('a wait with an aborted signal sends nothing', async (context) => {
  const { store, locks } = await context.faulty(planFor({}))
  const signal = AbortSignal.abort(new Error('before it began'))
  await assert.rejects(
    context.soon(locks.mutex(context.name()).acquire({ signal })),
    /before it began/,
  )
  assert.equal(store.sent.length, 0)
})

async function freeSoon(context: Context): Promise<void> {
  const locks: Locks = await context.locks()
  const lease = await context.soon(locks.mutex(context.name()).acquire(), 'the free lock')
  await lease.release()
}
