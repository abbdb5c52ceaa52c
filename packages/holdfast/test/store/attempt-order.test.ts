/** Attempts of one client for one lock leave in the order of the calls. */
import { expect, test } from 'vitest'
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

test('no more than 128 attempts for a lock are in flight', async () => {
  const service = new Service()
  const terms = { queue: {} }
  for (let number = 0; number < 200; number += 1) void service.attempt(number, terms)
  expect(service.sent.length).toBe(128)
  await service.answer(0, WAITING)
  expect(service.sent.length).toBe(129)
})
