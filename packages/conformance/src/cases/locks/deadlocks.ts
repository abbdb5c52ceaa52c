/**
 * Deadlocks: inside one client, which sees them by itself, and across clients, where the store
 * shows what the holders wait for.
 */
import assert from 'node:assert/strict'
import { DeadlockError, type Lockable, type Locks, type ReadWriteLock } from 'holdfast'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { outcomeOf, type Outcome } from '../../expect.js'
import { queue, readWriteLock, semaphore } from '../../needs.js'

export const deadlocks = new Group('deadlocks')

const ACROSS_CLIENTS = [queue]

/** How long after a deadlock has closed one of its waits fails. A busy machine adds its slack. */
const FOUND_WITHIN_MS = 2000

/** What one client takes: the second lock inside the first. */
type Pair = (locks: Locks) => readonly [outer: Lockable, inner: Lockable]

/**
 * Closes a deadlock, and asserts that one wait fails, with the whole deadlock, and the others end.
 * @param clients one for each pair
 */
async function expectOneVictim(
  context: Context,
  clients: readonly Locks[],
  pairs: readonly Pair[],
): Promise<void> {
  let waiting = pairs.length
  let open: (() => void) | undefined
  const allHold = new Promise<void>((resolve) => {
    open = resolve
  })
  const runs = pairs.map((pair, index) => {
    const [outer, inner] = pair(clients[index] as Locks)
    const work = async (): Promise<string> => {
      waiting -= 1
      if (waiting === 0) open?.()
      await allHold
      return inner.run(() => 'done')
    }
    return outcomeOf(outer.run(work))
  })
  // The deadlock closes now: until then clients connect, which says nothing about detection.
  await context.soon(allHold, 'each outer lock')
  const limitMs = FOUND_WITHIN_MS + context.slackMs
  const outcomes = await context.time.within(Promise.all(runs), limitMs, 'the end of the deadlock')
  const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []))
  const [error] = errors
  assert.ok(error instanceof DeadlockError, `a wait failed with ${String(error)}`)
  assert.equal(errors.length, 1, 'more than one wait failed')
  assert.equal(error.cycle.length, pairs.length)
  assert.equal(
    outcomes.filter((outcome: Outcome<string>) => 'value' in outcome).length,
    pairs.length - 1,
  )
}

/** Returns pairs that take mutexes in a cycle. */
function mutexCycle(context: Context, length: number): Pair[] {
  const mutex = (locks: Locks, index: number): Lockable =>
    locks.mutex(context.name(`mutex-${index % length}`))
  return Array.from({ length }, (_, index) => (locks) => [
    mutex(locks, index),
    mutex(locks, index + 1),
  ])
}

/** Returns pairs that take a mutex, a reader or writer, and permits in a cycle. */
function mixedCycle(context: Context): Pair[] {
  const mutex = (locks: Locks): Lockable => locks.mutex(context.name('mutex'))
  const page = (locks: Locks): ReadWriteLock => locks.readWriteLock(context.name('page'))
  const pool = (locks: Locks): Lockable =>
    locks.semaphore(context.name('pool'), { permits: 2 }).withWeight(2)
  return [
    (locks) => [mutex(locks), page(locks).write],
    (locks) => [page(locks).read, pool(locks)],
    (locks) => [pool(locks), mutex(locks)],
  ]
}

async function severalClients(context: Context, count: number): Promise<Locks[]> {
  return Promise.all(Array.from({ length: count }, () => context.locks()))
}

for (const length of [2, 3]) {
  deadlocks.test(
    `one wait of a deadlock over ${length} mutexes inside one client fails`,
    async (context) => {
      const locks = await context.locks()
      const clients = Array.from({ length }, () => locks)
      await expectOneVictim(context, clients, mutexCycle(context, length))
    },
  )
}

deadlocks.test(
  'one wait of a deadlock over a mutex, a reader and a permit inside one client fails',
  async (context) => {
    const locks = await context.locks()
    await expectOneVictim(context, [locks, locks, locks], mixedCycle(context))
  },
  { needs: [readWriteLock, semaphore] },
)

deadlocks.test(
  'one wait of a deadlock over two mutexes fails, and the other gets its lock',
  async (context) =>
    expectOneVictim(context, await severalClients(context, 2), mutexCycle(context, 2)),
  { needs: ACROSS_CLIENTS },
)

deadlocks.test(
  'one wait of a deadlock over a mutex, a reader and a permit fails',
  async (context) =>
    expectOneVictim(context, await severalClients(context, 3), mixedCycle(context)),
  { needs: [...ACROSS_CLIENTS, readWriteLock, semaphore] },
)
