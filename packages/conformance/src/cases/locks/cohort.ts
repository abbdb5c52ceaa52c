/**
 * The waiters of one client. By default they share one claim in the store, and hand the lease on
 * within a bound. With `fairness: 'fifo'` each waits with its own claim and overtakes no other.
 */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { queue } from '../../needs.js'
import { type Locks, onLockEvent } from 'holdfast'

export const cohort = new Group('cohort')

/** How many times in a row a lease may pass inside a client before the store's queue moves. */
const HAND_OFFS_IN_A_ROW = 32
/** For how long a lease may pass inside a client before that. */
const HAND_OFFS_FOR_MS = 10

/** Callers of one client that acquire the lock again and again, without a pause. */
class Crowd {
  turns = 0
  #stopped = false
  readonly #callers: Promise<void>[]

  /** @param workMs how long each holds the lock */
  constructor(context: Context, locks: Locks, size: number, workMs = 0) {
    const mutex = locks.mutex(context.name())
    const pause = (ms: number): Promise<void> =>
      new Promise((resolve) => void context.time.clock.timer(ms, resolve))
    const work = (): Promise<void> | undefined => {
      this.turns += 1
      return workMs > 0 ? pause(workMs) : undefined
    }
    this.#callers = Array.from({ length: size }, async () => {
      while (!this.#stopped) {
        await mutex.run(work)
        // Without a pause the event loop would never serve the other client.
        if (this.turns % 7 === 0) await pause(1)
      }
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#callers)
  }
}

cohort.test(
  'many waiters of one client let another client in after a bounded number of hand-offs',
  async (context) => {
    const [crowded, other] = [await context.locks(), await context.locks()]
    const crowd = new Crowd(context, crowded, 12)
    try {
      await context.time.eventually('the crowd is at work', context.slackMs, () => crowd.turns > 50)
      for (let round = 0; round < 5; round += 1) {
        const overtakes = await comeInBeside(context, crowd, other)
        assert.ok(overtakes <= HAND_OFFS_IN_A_ROW + 1, `${overtakes} came before it`)
      }
    } finally {
      await context.time.within(crowd.stop(), 2000 + context.slackMs, 'the end of the crowd')
    }
  },
  { needs: [queue] },
)

cohort.test(
  'many waiters of one client let another client in after a bounded time of hand-offs',
  async (context) => {
    const [crowded, other] = [await context.locks(), await context.locks()]
    const workMs = 4
    const crowd = new Crowd(context, crowded, 12, workMs)
    // The last hand-off of a row is within the time, and one caller may have just begun.
    const most = Math.ceil(HAND_OFFS_FOR_MS / workMs) + 1
    try {
      await context.time.eventually('the crowd is at work', context.slackMs, () => crowd.turns > 5)
      for (let round = 0; round < 5; round += 1) {
        const overtakes = await comeInBeside(context, crowd, other)
        assert.ok(overtakes <= most, `${overtakes} came before it`)
      }
    } finally {
      await context.time.within(crowd.stop(), 2000 + context.slackMs, 'the end of the crowd')
    }
  },
  { needs: [queue] },
)

cohort.test(
  'two crowded clients pass the lock on within the bound, and then to each other',
  async (context) => {
    const clients = [await context.locks(), await context.locks()]
    const ids = clients.map(({ clientId }) => clientId)
    const rows = new RowCount(ids)
    // From then on the other client's claim stands in the queue.
    const stops = [
      onLockEvent('queued', ({ clientId }) => rows.noteQueued(clientId)),
      onLockEvent('granted', ({ clientId }) => rows.noteGrant(clientId)),
      onLockEvent('handed-off', ({ clientId }) => rows.noteGrant(clientId)),
    ]
    const crowds = clients.map((locks) => new Crowd(context, locks, 12))
    try {
      await context.time.eventually('both had the lock', context.slackMs + 5000, () =>
        ids.every((id) => rows.grantsOf(id) > 100),
      )
    } finally {
      const ends = Promise.all(crowds.map((crowd) => crowd.stop()))
      await context.time.within(ends, 5000 + context.slackMs, 'the end of the crowds')
      for (const stop of stops) stop()
    }
    const { longest } = rows
    assert.ok(longest <= HAND_OFFS_IN_A_ROW + 1, `${longest} grants in a row`)
  },
  { needs: [queue] },
)

/** Counts the grants of one client in a row while another client's claim waits. */
class RowCount {
  longest = 0
  #holder: string | undefined
  #row = 0
  readonly #grants = new Map<string, number>()
  readonly #queued = new Set<string>()
  readonly #clients: readonly string[]

  /** @param clients others use other locks of the store meanwhile */
  constructor(clients: readonly string[]) {
    this.#clients = clients
  }

  noteQueued(clientId: string): void {
    if (this.#clients.includes(clientId)) this.#queued.add(clientId)
  }

  noteGrant(clientId: string): void {
    if (!this.#clients.includes(clientId)) return
    this.#grants.set(clientId, this.grantsOf(clientId) + 1)
    this.#queued.delete(clientId)
    const isAwaited = this.#queued.size > 0
    this.#row = isAwaited && clientId === this.#holder ? this.#row + 1 : isAwaited ? 1 : 0
    this.#holder = clientId
    this.longest = Math.max(this.longest, this.#row)
  }

  grantsOf(clientId: string): number {
    return this.#grants.get(clientId) ?? 0
  }
}

/** Acquires the lock once. Resolves to how many of the crowd held it while this client queued. */
async function comeInBeside(context: Context, crowd: Crowd, other: Locks): Promise<number> {
  let queuedAt = Infinity
  const stop = onLockEvent('queued', ({ clientId }) => {
    if (clientId === other.clientId) queuedAt = Math.min(queuedAt, crowd.turns)
  })
  const acquired = other.mutex(context.name()).acquire()
  const limitMs = 2000 + context.slackMs
  const lease = await context.time
    .within(acquired, limitMs, 'the turn of the other client')
    .finally(stop)
  const overtakes = Math.max(0, crowd.turns - queuedAt)
  await lease.release()
  return overtakes
}

cohort.test('each waiter of a client gets its own token, in order', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const held = await context.soon(one.mutex(context.name()).acquire())
  const tokens: bigint[] = []
  const waits = Array.from({ length: 40 }, (_, index) =>
    (index % 2 === 0 ? one : two).mutex(context.name()).run(({ token }) => void tokens.push(token)),
  )
  const all = Promise.all(waits)
  await context.time.pass(20)
  await held.release()
  await context.time.within(all, 5000 + context.slackMs, 'the end of all waits')
  assert.equal(tokens.length, 40)
  assert.deepEqual(
    tokens,
    [...tokens].sort((a, b) => (a < b ? -1 : 1)),
  )
  assert.equal(new Set(tokens).size, 40)
})

cohort.test(
  'with fairness fifo no client overtakes another, also through hand-offs',
  async (context) => {
    const [one, two] = [
      await context.locks({ fairness: 'fifo' }),
      await context.locks({ fairness: 'fifo' }),
    ]
    const held = await context.soon(two.mutex(context.name()).acquire())
    const [order, tokens]: [number[], bigint[]] = [[], []]
    const turns: Promise<void>[] = []
    for (const [number, locks] of [one, one, one, two, one, two, two].entries()) {
      const turn = locks.mutex(context.name()).run(({ token }) => {
        order.push(number)
        tokens.push(token)
      })
      turns.push(context.later(turn))
      await context.waiters(number + 1)
    }
    await held.release()
    await context.time.within(Promise.all(turns), 5000 + context.slackMs, 'the end of all waits')
    assert.deepEqual(order, [...turns.keys()])
    assert.deepEqual(
      tokens,
      [...tokens].sort((a, b) => (a < b ? -1 : 1)),
    )
    await context.waiters(0)
    await context.soon((await context.soon(one.mutex(context.name()).acquire())).release())
  },
  { needs: [queue] },
)

cohort.test(
  'callers of one client are granted in the order of their calls, also for different leases',
  async (context) => {
    const [one, other] = [await context.locks({ fairness: 'fifo' }), await context.locks()]
    for (const round of [1, 2, 3]) {
      const name = context.name(`round-${round}`)
      const held = await context.soon(other.mutex(name).acquire())
      const order: number[] = []
      const turns = Array.from({ length: 12 }, (_, number) => {
        const lock = one.mutex(name, { ttlMs: context.longMs - (number % 3) * 100 })
        return context.later(lock.run(() => void order.push(number)))
      })
      await held.release()
      await context.time.within(Promise.all(turns), 5000 + context.slackMs, 'the end of all waits')
      assert.deepEqual(order, [...turns.keys()])
    }
  },
  { needs: [queue] },
)

cohort.test('a waiter that waits for longer than its TTL is granted', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const held = await context.soon(one.mutex(context.name()).acquire())
  const impatient = two.mutex(context.name(), { ttlMs: context.shortMs })
  // Looked at in the tick of the grant: a busy machine may take longer than the TTL afterwards.
  const waiting = context.later(impatient.acquire().then((lease) => lease.held))
  await context.time.pass(context.shortMs * 2.5)
  assert.equal(held.held, true)
  await held.release()
  assert.equal(await context.time.within(waiting, 2000 + context.slackMs, 'the lock'), true)
})

cohort.test('many leases of one client are renewed together', async (context) => {
  const locks = await context.locks()
  const ttlMs = context.shortMs * 3
  const names = Array.from({ length: 60 }, (_, index) => context.name(`many-${index}`))
  const leases = await context.soon(
    Promise.all(names.map((name) => locks.mutex(name, { ttlMs }).acquire())),
  )
  await context.time.pass(ttlMs * 1.5)
  assert.ok(leases.every((lease) => lease.held))
  const outcomes = await context.soon(Promise.all(leases.map((lease) => lease.release())))
  assert.deepEqual(new Set(outcomes), new Set(['released']))
})
