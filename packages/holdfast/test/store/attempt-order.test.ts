/** Attempts of one client for one lock leave in the order of the calls. */
import { expect, test } from 'vitest'
import { StoreUnavailableError } from 'holdfast'
import { AttemptOrder } from '../../dist/store/attempt-order.js'
import type { AttemptResult, Claim } from '../../dist/store/contract.js'

const WAITING: AttemptResult = { outcome: 'waiting', holderRemainingMs: undefined }
const BUSY: AttemptResult = { outcome: 'busy', holderRemainingMs: undefined }

/** A service that answers when it is asked to. */
class Service {
  readonly sent: number[] = []
  readonly #order: AttemptOrder
  readonly #answers = new Map<number, (result: AttemptResult) => void>()

  constructor(keepsOrder = false) {
    this.#order = new AttemptOrder(keepsOrder)
  }

  attempt(
    number: number,
    { weight = 1, capacity = 1, queue = {}, enqueue = true, lock = 'a' } = {},
  ): Promise<AttemptResult> {
    const claim: Claim = {
      lock,
      id: String(number),
      kind: 'mutex',
      capacity,
      weight,
      ttlMs: 1000,
      heartbeatMs: 300,
      owner: { clientId: 'one', host: 'test', pid: 1 },
    }
    return this.#order.run(claim, { enqueue, tokens: 1, queue }, () => {
      this.sent.push(number)
      return new Promise((resolve) => void this.#answers.set(number, resolve))
    })
  }

  async answer(number: number, result: AttemptResult): Promise<void> {
    this.#answers.get(number)?.(result)
    await new Promise(setImmediate)
  }
}

test('attempts of one queue travel together, those of another one wait for their answers', async () => {
  const service = new Service()
  const [one, other] = [{}, {}]
  void service.attempt(1, { queue: one })
  void service.attempt(2, { queue: one })
  void service.attempt(3, { queue: other })
  // Behind the one that waits, though it could join those in flight.
  void service.attempt(4, { queue: one })
  expect(service.sent).toEqual([1, 2])
  await service.answer(2, WAITING)
  expect(service.sent).toEqual([1, 2])
  await service.answer(1, WAITING)
  expect(service.sent).toEqual([1, 2, 3])
  await service.answer(3, WAITING)
  expect(service.sent).toEqual([1, 2, 3, 4])
})

test('attempts for permits leave one by one', async () => {
  const service = new Service()
  const terms = { capacity: 2, queue: {} }
  for (const number of [1, 2, 3]) void service.attempt(number, terms)
  expect(service.sent).toEqual([1])
  await service.answer(1, WAITING)
  expect(service.sent).toEqual([1, 2])
  await service.answer(2, WAITING)
  expect(service.sent).toEqual([1, 2, 3])
})

test('attempts for permits travel together behind a waiter, where the service keeps their order', async () => {
  const service = new Service(true)
  const terms = { capacity: 2, queue: {} }
  for (const number of [1, 2, 3, 4]) void service.attempt(number, terms)
  expect(service.sent).toEqual([1])
  await service.answer(1, { outcome: 'withdrawn' })
  expect(service.sent).toEqual([1, 2])
  await service.answer(2, WAITING)
  expect(service.sent).toEqual([1, 2, 3, 4])
})

test('attempts that do not queue travel together, behind the ones that queue', async () => {
  const service = new Service()
  void service.attempt(1)
  void service.attempt(2, { enqueue: false })
  void service.attempt(3, { enqueue: false })
  expect(service.sent).toEqual([1])
  await service.answer(1, WAITING)
  expect(service.sent).toEqual([1, 2, 3])
  await service.answer(2, BUSY)
  await service.answer(3, BUSY)
})

test('an attempt that fails lets the next one go, and other locks do not wait at all', async () => {
  const order = new AttemptOrder(false)
  const claim = { lock: 'a', weight: 1, capacity: 1 } as Claim
  const failing = order.run(claim, { enqueue: true, tokens: 1 }, () =>
    Promise.reject(new Error('down')),
  )
  const next = order.run(claim, { enqueue: true, tokens: 1 }, () => Promise.resolve(WAITING))
  await expect(failing).rejects.toThrow('down')
  await expect(next).resolves.toBe(WAITING)
  const service = new Service()
  void service.attempt(1)
  void service.attempt(2, { lock: 'b' })
  expect(service.sent).toEqual([1, 2])
})

test('an attempt that finds no store fails those that queue behind it, and they come again in order', async () => {
  const order = new AttemptOrder(false)
  const away = new StoreUnavailableError('The store is away.', { store: 'test' })
  const [one, other] = [{}, {}]
  const sent: string[] = []
  let isAway = true
  const attempt = (id: string, queue: object | undefined): Promise<AttemptResult> => {
    const claim = { lock: 'a', id, weight: 1, capacity: 1 } as Claim
    return order.run(claim, { enqueue: queue !== undefined, tokens: 1, queue }, async () => {
      sent.push(id)
      if (isAway && queue) throw away
      return WAITING
    })
  }
  const queued = [attempt('1', one), attempt('2', other), attempt('3', one)]
  const trying = attempt('4', undefined)
  const settled = await Promise.allSettled(queued)
  expect(settled.map((result) => result.status === 'rejected' && result.reason)).toEqual([
    away,
    away,
    away,
  ])
  await expect(trying).resolves.toBe(WAITING)
  expect(sent).toEqual(['1', '4'])
  isAway = false
  await Promise.all([attempt('1', one), attempt('2', other), attempt('3', one)])
  expect(sent).toEqual(['1', '4', '1', '2', '3'])
})

test('no more than 128 attempts for a lock are in flight', async () => {
  const service = new Service()
  const terms = { queue: {} }
  for (let number = 0; number < 200; number += 1) void service.attempt(number, terms)
  expect(service.sent.length).toBe(128)
  await service.answer(0, WAITING)
  expect(service.sent.length).toBe(129)
})
