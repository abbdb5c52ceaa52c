/** What a batch of requests to a database does for each of them. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { LockUsageError } from '../../dist/errors.js'
import { systemClock } from '../../dist/clock/clock.js'
import type { Database } from '../../dist/stores/sql/connection/database.js'
import { Batches } from '../../dist/stores/sql/verbs/batches.js'
import type { Answer, Request } from '../../dist/stores/sql/wire.js'

/** As much of a database as a batch uses. */
type Runs = Pick<Database, 'clock' | 'name' | 'maxStatements' | 'largestBatch' | 'run'>
/** Answers requests, as a database with a connection at hand. */
type Run = (requests: readonly Request[]) => Promise<readonly Answer[]>

function batchesOver(run: Run, onPoolClosed?: () => void): Batches {
  return batchesThrough(
    (batch) =>
      batch.leave(() => {
        run(batch.requests).then(
          (answers) => batch.answer(answers),
          (reason: unknown) => batch.fail(reason),
        )
      }),
    onPoolClosed,
  )
}

function batchesThrough(run: Runs['run'], onPoolClosed = (): void => undefined): Batches {
  const settings = { clock: systemClock, name: 'postgres', maxStatements: 1, largestBatch: 10 }
  const database: Runs = { ...settings, run }
  return new Batches(database as Database, onPoolClosed)
}

function attempt(lock: string): Request {
  return { verb: 'attempt', lock, id: `claim of ${lock}` }
}

function outcomeOf(answer: Answer): unknown {
  return answer['outcome']
}

function readable(answer: Answer): unknown {
  if (answer['outcome'] === 'strange') throw new Error('strange')
  return outcomeOf(answer)
}

const GRANTED: Answer = { outcome: 'granted' }

test('the answers to several callers are heard in the context of none of them', async () => {
  const callers = new AsyncLocalStorage<string>()
  const batches = batchesOver(async (requests) => requests.map(() => GRANTED))
  const heardIn = (name: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const listener = { answered: () => resolve(callers.getStore()), failed: reject }
      callers.run(name, () => batches.send(attempt(name), outcomeOf, name).listen(listener))
    })
  expect(await Promise.all([heardIn('first'), heardIn('second')])).toEqual([undefined, undefined])
})

test('a call that cannot be made fails its requests, and later ones are sent', async () => {
  const broken = new Error('it cannot be written')
  const batches = batchesOver((requests) => {
    if (requests[0]?.lock === 'broken') throw broken
    return Promise.resolve(requests.map(() => GRANTED))
  })
  await expect(batches.send(attempt('broken'), outcomeOf, 'broken')).rejects.toBe(broken)
  expect(await batches.send(attempt('next'), outcomeOf, 'next')).toBe('granted')
  await expect(batches.send(attempt('broken'), outcomeOf, 'broken')).rejects.toBe(broken)
})

test('requests that are sent one by one notice that the pool was closed', async () => {
  let closed = 0
  const batches = batchesOver(
    async (requests) => {
      if (requests.length > 1) throw new LockUsageError('One of them makes no sense.', {})
      throw new LockUsageError('The pool was closed.', { code: 'LOCKS_CLOSED' })
    },
    () => (closed += 1),
  )
  const sent = ['one', 'two'].map((lock) => batches.send(attempt(lock), outcomeOf, lock))
  for (const { status } of await Promise.allSettled(sent)) expect(status).toBe('rejected')
  expect(closed).toBe(2)
})

test('of requests that are sent one by one, none is sent whose caller has given up', async () => {
  const sent: unknown[][] = []
  const batches = batchesOver(async (requests) => {
    if (requests.length > 1) throw new LockUsageError('One of them makes no sense.', {})
    sent.push(requests.map(({ id }) => id))
    batches.giveUp({ lock: 'two', id: 'claim of two', ttlMs: 1000 })
    return requests.map(() => GRANTED)
  })
  const [one, two] = ['one', 'two'].map((lock) => batches.send(attempt(lock), outcomeOf, lock))
  expect(await one).toBe('granted')
  expect(await two).toBe('withdrawn')
  expect(sent).toEqual([['claim of one']])
})

test('a request that was sent alone is not repeated when its caller has given up', async () => {
  const sent: string[][] = []
  const batches = batchesThrough((batch) =>
    batch.leave(() => {
      if (batch.requests.length > 1) return batch.fail(new LockUsageError('Senseless.', {}))
      const [{ lock, id }] = batch.requests as [Request & { id: string }]
      sent.push([id])
      batches.giveUp({ lock, id, ttlMs: 1000 })
      batch.unheard()
      batch.leave(() => {
        sent.push(batch.requests.map((request) => String(request.id)))
        batch.answer([])
      })
    }),
  )
  const answers = ['one', 'two'].map((lock) => batches.send(attempt(lock), outcomeOf, lock))
  expect(await Promise.all(answers)).toEqual(['withdrawn', 'withdrawn'])
  expect(sent).toEqual([['claim of one'], [], ['claim of two'], []])
})

test('an answer that makes no sense fails its own request alone', async () => {
  const batches = batchesOver(async () => [GRANTED, { outcome: 'strange' }])
  const [good, bad] = ['good', 'bad'].map((lock) => batches.send(attempt(lock), readable, lock))
  await expect(bad).rejects.toThrow('strange')
  expect(await good).toBe('granted')
})
