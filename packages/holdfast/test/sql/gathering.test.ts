/**
 * Requests gather in a batch until the pool has lent a connection. The next attempt travels with a
 * release for which no `run` waits.
 */
import { expect, test } from 'vitest'
import { VirtualClock } from 'holdfast/testing'
import { systemClock, type Clock } from '../../dist/clock/clock.js'
import type { Batch, Database } from '../../dist/stores/sql/connection/database.js'
import { Batches } from '../../dist/stores/sql/verbs/batches.js'
import type { Answer, Request } from '../../dist/stores/sql/wire.js'

type Runs = Pick<Database, 'clock' | 'name' | 'maxStatements' | 'largestBatch' | 'lends' | 'run'>

/** A database whose pool lends when the test lets it. */
class Lender {
  /** The statements that have left, as the verbs and locks of their requests. */
  readonly left: string[][] = []
  readonly batches: Batches
  readonly #waiting: Batch[] = []
  readonly #sent: Batch[] = []

  constructor({
    clock = systemClock,
    largestBatch = 4,
  }: { clock?: Clock; largestBatch?: number } = {}) {
    const database: Runs = {
      clock,
      name: 'postgres',
      maxStatements: 2,
      largestBatch,
      lends: true,
      run: (batch) => void this.#waiting.push(batch),
    }
    this.batches = new Batches(database as Database, () => undefined)
  }

  get waiting(): number {
    return this.#waiting.length
  }

  lend(): void {
    const batch = this.#waiting.shift()
    if (!batch) throw new Error('no batch waits for a connection')
    batch.leave(() => {
      this.left.push(batch.requests.map(({ verb, lock }) => `${verb} ${lock}`))
      this.#sent.push(batch)
    })
  }

  answer(): void {
    const batch = this.#sent.shift()
    batch?.answer(batch.requests.map(() => ({ outcome: 'done' })))
  }

  fail(): void {
    this.#waiting.shift()?.fail(new Error('no connection came'))
  }
}

const outcomeOf = (answer: Answer): unknown => answer['outcome']
/** When the requests of this tick have asked for a connection. */
const nextTick = (): Promise<void> =>
  new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)))
/** After all that this turn of the event loop does. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

function attempt({ batches }: Lender, lock: string, weight = 3): Promise<unknown> {
  const request: Request = { verb: 'attempt', lock, id: `claim of ${lock}`, weight, capacity: 3 }
  return batches.send(request, outcomeOf, lock)
}

function release({ batches }: Lender, lock: string): PromiseLike<unknown> {
  return batches.send({ verb: 'withdraw', lock, id: `earlier of ${lock}` }, outcomeOf)
}

/** A release for which no `run` waits. Returns what the run waits for. */
function openRelease(lender: Lender, lock: string): Promise<void> | undefined {
  void release(lender, lock)
  return lender.batches.noteOpenRelease(lock)
}

test('requests join a batch that waits for its connection', async () => {
  const lender = new Lender()
  void attempt(lender, 'a')
  await turn()
  expect(lender.waiting).toBe(1)
  void release(lender, 'b')
  lender.lend()
  expect(lender.left).toEqual([['withdraw b', 'attempt a']])
})

test('no more join it than a statement may have', async () => {
  const lender = new Lender({ largestBatch: 2 })
  void attempt(lender, 'a')
  await turn()
  for (const lock of ['b', 'c']) void attempt(lender, lock)
  lender.lend()
  expect(lender.left).toEqual([['attempt a', 'attempt b']])
  await turn()
  lender.lend()
  expect(lender.left[1]).toEqual(['attempt c'])
})

test('none joins a batch that has waited for long, whose time limit ends earlier', async () => {
  const clock = new VirtualClock()
  const lender = new Lender({ clock })
  const run = openRelease(lender, 'a')
  await clock.advance(0)
  await clock.advance(21)
  void attempt(lender, 'b')
  lender.lend()
  await run
  void attempt(lender, 'a')
  await clock.advance(0)
  await turn()
  expect(lender.left).toEqual([['withdraw a']])
})

test('a run ends when its release has a connection, and that leaves in the same turn', async () => {
  const lender = new Lender()
  let hasEnded = false
  void openRelease(lender, 'a')?.then(() => (hasEnded = true))
  await nextTick()
  expect(hasEnded).toBe(false)
  lender.lend()
  await nextTick()
  expect(hasEnded).toBe(true)
  expect(lender.left).toEqual([['withdraw a']])
})

test('a run ends with the turn, also when no connection has come', async () => {
  const lender = new Lender()
  await openRelease(lender, 'a')
  expect(lender.left).toEqual([])
  lender.lend()
  expect(lender.left).toEqual([['withdraw a']])
})

test('each run has a release of its own, and one without a release waits for none', async () => {
  const lender = new Lender()
  const one = openRelease(lender, 'a')
  expect(lender.batches.noteOpenRelease('a')).toBeUndefined()
  const other = openRelease(lender, 'a')
  await nextTick()
  lender.lend()
  await one
  await other
})

test('the next attempt for its lock travels with it, and no other request', async () => {
  const lender = new Lender()
  const next = openRelease(lender, 'a')?.then(() => {
    void attempt(lender, 'a')
    void attempt(lender, 'b')
  })
  await nextTick()
  lender.lend()
  await next
  await turn()
  expect(lender.left).toEqual([['withdraw a', 'attempt a']])
  lender.lend()
  expect(lender.left[1]).toEqual(['attempt b'])
})

test('the next attempt for a part of its lock waits for the answer', async () => {
  const lender = new Lender()
  const next = openRelease(lender, 'a')?.then(() => void attempt(lender, 'a', 1))
  await nextTick()
  lender.lend()
  await next
  await turn()
  expect([lender.left, lender.waiting]).toEqual([[['withdraw a']], 0])
  lender.answer()
  await turn()
  lender.lend()
  expect(lender.left[1]).toEqual(['attempt a'])
})

test('the next attempt for another lock travels with it too', async () => {
  const lender = new Lender()
  const next = openRelease(lender, 'a')?.then(() => void attempt(lender, 'b'))
  await nextTick()
  lender.lend()
  await next
  await turn()
  expect(lender.left).toEqual([['withdraw a', 'attempt b']])
})

test('an attempt waits for the answer to a release that has left', async () => {
  const lender = new Lender()
  void openRelease(lender, 'a')
  await turn()
  lender.lend()
  await turn()
  const later = attempt(lender, 'a')
  await turn()
  expect(lender.waiting).toBe(0)
  lender.answer()
  await turn()
  lender.lend()
  lender.answer()
  expect(await later).toBe('done')
  expect(lender.left).toEqual([['withdraw a'], ['attempt a']])
})

test('an attempt waits for all open releases of its lock, and for those beside others', async () => {
  const lender = new Lender()
  const ends: (Promise<void> | undefined)[] = []
  for (const lock of ['a', 'a', 'b']) ends.push(openRelease(lender, lock))
  await nextTick()
  lender.lend()
  for (const end of ends) await end
  for (const lock of ['a', 'b']) void attempt(lender, lock)
  await turn()
  expect(lender.left).toEqual([['withdraw a', 'withdraw a', 'withdraw b']])
  lender.answer()
  await turn()
  lender.lend()
  expect(lender.left[1]).toEqual(['attempt a', 'attempt b'])
})

test('an attempt does not wait for a release that its caller awaits', async () => {
  const lender = new Lender()
  void release(lender, 'a')
  await turn()
  lender.lend()
  void attempt(lender, 'a')
  await turn()
  expect(lender.waiting).toBe(1)
})

test('at the exit of the process a release with a connection leaves at once, and no attempt does', async () => {
  const lender = new Lender()
  let isAtExit: boolean | undefined
  void attempt(lender, 'b')
  const next = openRelease(lender, 'a')?.then(() => {
    void attempt(lender, 'a')
    lender.batches.flush()
    isAtExit = lender.left.length > 0
  })
  await nextTick()
  lender.lend()
  await next
  expect(isAtExit).toBe(true)
  expect(lender.left).toEqual([['withdraw a']])
})

test('only the newest release of this lock, which has not left, is open', async () => {
  const lender = new Lender()
  void release(lender, 'a')
  expect(lender.batches.noteOpenRelease('b')).toBeUndefined()
  await turn()
  expect(lender.batches.noteOpenRelease('a')).toBeUndefined()
})

/** The caller of the attempt on a lock gives up. */
function giveUp({ batches }: Lender, lock: string): void {
  batches.giveUp({ lock, id: `claim of ${lock}`, ttlMs: 1000 })
}

test('an attempt that is held back is not sent once its caller has given up', async () => {
  const lender = new Lender()
  void openRelease(lender, 'a')
  await turn()
  lender.lend()
  await turn()
  const attempts = [attempt(lender, 'a')]
  await turn()
  giveUp(lender, 'a')
  attempts.push(attempt(lender, 'a'))
  giveUp(lender, 'a')
  expect(await Promise.all(attempts)).toEqual(['withdrawn', 'withdrawn'])
  lender.answer()
  await turn()
  expect([lender.left, lender.waiting]).toEqual([[['withdraw a']], 0])
})

test('a batch leaves out what its caller has given up, and holds back none for that', async () => {
  const lender = new Lender()
  const outcomes = [attempt(lender, 'a'), attempt(lender, 'b')]
  await turn()
  giveUp(lender, 'a')
  lender.lend()
  expect(lender.left).toEqual([['attempt b']])
  lender.answer()
  expect(await Promise.all(outcomes)).toEqual(['withdrawn', 'done'])
  void attempt(lender, 'a')
  await turn()
  lender.lend()
  expect(lender.left[1]).toEqual(['attempt a'])
})
