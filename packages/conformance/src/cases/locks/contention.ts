/** Exclusion under contention: many actors of several clients write a history, which is checked. */
import assert from 'node:assert/strict'
import { checkHistory } from '../../check/index.js'
import { Group } from '../../case.js'
import { contend } from '../../contend.js'
import type { Context } from '../../context.js'
import type { Fate, Plan } from 'holdfast/testing'
import { nanoseconds, Recorder, type HistoryEvent } from '../../history/index.js'
import { queue, readWriteLock, semaphore } from '../../needs.js'
import type { Lockable, Locks } from 'holdfast'
import { CAPACITY_ALL } from 'holdfast/store'

export const contention = new Group('contention')

interface Part {
  readonly lock: Lockable
  readonly weight: number
  readonly capacity: number
}

const FOR_MS = 500
const CLIENTS = 4
const CALLERS = 40

contention.test(
  'a mutex has one holder at a time, with hand-offs inside each client',
  async (context) => {
    await fight(context, await clients(context), (locks) => mutexes(locks, context))
  },
)

contention.test('a mutex with fairness fifo has one holder at a time', async (context) => {
  const all = await clients(context)
  await fight(context, all, (locks) =>
    mutexes(locks, context).map((part) => ({
      ...part,
      lock: locks.mutex(context.name(), { fairness: 'fifo' }),
    })),
  )
})

contention.test(
  'a semaphore never grants more permits than it has',
  async (context) => {
    await fight(context, await clients(context), (locks) =>
      [1, 2, 3].map((weight) => ({
        lock: locks.semaphore(context.name(), { permits: 4 }).withWeight(weight),
        weight,
        capacity: 4,
      })),
    )
  },
  { needs: [semaphore] },
)

contention.test(
  'callers of one client get permits in the order of their calls',
  async (context) => {
    const locks = await context.locks()
    const permits = locks.semaphore(context.name(), { permits: 3 })
    const [called, started]: [number[], number[]] = [[], []]
    const pauses = Array.from({ length: CALLERS }, (_, step) => context.time.pass(2 * step))
    const callers = Array.from({ length: CALLERS }, async (_, index) => {
      // Three calls share a moment, and the next ones come while those are on their way. On a busy
      // machine two timers may fire in another order than they were set.
      await pauses[Math.floor(index / 3)]
      called.push(index)
      await permits.run(() => void started.push(index))
    })
    await context.soon(Promise.all(callers), 'all callers')
    assert.deepEqual(started, called)
  },
  { needs: [semaphore, queue] },
)

contention.test(
  'a writer holds alone',
  async (context) => {
    await fight(context, await clients(context), (locks) => {
      const { read, write } = locks.readWriteLock(context.name())
      const reader = { lock: read, weight: 1, capacity: CAPACITY_ALL }
      return [reader, reader, { lock: write, weight: CAPACITY_ALL, capacity: CAPACITY_ALL }]
    })
  },
  { needs: [readWriteLock] },
)

contention.test(
  'a mutex has one holder at a time while messages are lost, delayed and repeated',
  async (context) => {
    const all: Locks[] = []
    for (let count = 0; count < CLIENTS; count += 1) {
      const options = { ttlMs: context.shortMs, requestTimeoutMs: context.shortMs / 4 }
      const { locks } = await context.faulty(badWire(context), options)
      all.push(locks)
    }
    await fight(context, all, (locks) => mutexes(locks, context), 4 * context.shortMs)
  },
)

async function clients(context: Context): Promise<Locks[]> {
  return Promise.all(Array.from({ length: CLIENTS }, () => context.locks()))
}

function mutexes(locks: Locks, context: Context): Part[] {
  return Array.from({ length: 3 }, () => ({
    lock: locks.mutex(context.name()),
    weight: 1,
    capacity: 1,
  }))
}

/** Returns a plan that loses, delays or repeats one message in ten. */
function badWire({ random, shortMs }: Context): Plan {
  const accidents: readonly (() => Fate)[] = [
    () => ({ drop: 'request' }),
    () => ({ drop: 'reply' }),
    () => ({ drop: 'reply', fails: true }),
    () => ({ requestMs: random.next() * shortMs }),
    () => ({ replyMs: random.next() * shortMs }),
    () => ({ againAfterMs: random.next() * shortMs }),
  ]
  return () => {
    const accident = accidents[Math.floor(random.next() * accidents.length * 10)]
    return accident?.() ?? { requestMs: random.next() * 3 }
  }
}

/** Lets every part of every client contend for a while, and checks the history. */
async function fight(
  context: Context,
  all: readonly Locks[],
  partsOf: (locks: Locks) => Part[],
  forMs = FOR_MS,
): Promise<void> {
  const { clock } = context.time
  const events: HistoryEvent[] = []
  const untilMs = clock.monotonicMs() + forMs
  const actors = all.flatMap((locks, client) =>
    partsOf(locks).map((part, actor) =>
      contend({
        ...part,
        recorder: new Recorder(
          `${client}-${actor}`,
          (event) => events.push(event),
          nanoseconds(clock),
        ),
        clock,
        random: context.random,
        workMs: 4,
        goesOn: () => clock.monotonicMs() < untilMs,
      }),
    ),
  )
  const limitMs = forMs + context.shortMs * 4 + 3 * context.slackMs
  const holds = await context.time.within(Promise.all(actors), limitMs, 'the end of the contention')
  assert.deepEqual(
    checkHistory(events).map(({ message }) => message),
    [],
  )
  const served = holds.filter((count) => count > 0).length
  // Without a queue no actor is promised a turn in this short time.
  const expected = context.subject.traits.fair ? holds.length : 1
  assert.ok(served >= expected, `${served} of the actors held the lock: ${holds.join()}`)
}
