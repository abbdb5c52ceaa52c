/** A queue that is read once decides as the sum of all weights does, claim by claim. */
import { expect, test } from 'vitest'
import { QueueView, type QueueMember } from '../../dist/stores/coordination/queue/queue-view.js'
import {
  everyoneHolds,
  mayGo,
  positionOf,
} from '../../dist/stores/coordination/queue/queue-rule.js'
import { CAPACITY_ALL, type Claim } from '../../dist/store/contract.js'

type Weighed = Pick<Claim, 'capacity' | 'weight' | 'kind'>

/** A small generator of numbers, so that a failure can be repeated. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const member = (key: number, weight: number, isWriter = false): QueueMember => ({
  key: `k${key}`,
  weight,
  isWriter,
})

test('permits: a waiter goes when the sum of all weights before it lets it', () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const below = numbers(seed)
    const capacity = 1 + below(6)
    const members = Array.from({ length: below(12) + 1 }, (_, key) =>
      member(key, 1 + below(capacity)),
    )
    const view = new QueueView(members)
    for (const [number, { key, weight }] of members.entries()) {
      const claim: Weighed = { kind: 'semaphore', capacity, weight }
      const all = members.slice(0, number)
      const sum = all.reduce((total, one) => total + one.weight, 0)
      const position = view.before(key, claim)
      if (!position) throw new Error('It is not in the queue.')
      expect(mayGo(claim, position)).toBe(sum + weight <= capacity)
      if (weight === capacity) expect(position.before).toEqual(all.slice(-1))
      else
        expect(position.before).toEqual(everyoneHolds(claim, { weight: sum }) ? all : all.slice(-1))
      expect(position).toEqual(positionOf(claim, weight === capacity ? all.slice(-1) : all, sum))
    }
  }
})

test('readers and writers: a reader goes when no writer before it excludes it, a writer when it is the first', () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const below = numbers(seed)
    // Writers that were downgraded have held, so they stand at the beginning.
    const lowered = below(3)
    const members = Array.from({ length: below(10) + 1 }, (_, key) => {
      const isWriter = below(2) === 0
      return member(key, isWriter && key >= lowered ? CAPACITY_ALL : 1, isWriter)
    })
    const view = new QueueView(members)
    for (const [number, { key, weight }] of members.entries()) {
      const claim: Weighed = { kind: 'readWriteLock', capacity: CAPACITY_ALL, weight }
      const all = members.slice(0, number)
      const excludes = all.some((one) => one.isWriter && one.weight === CAPACITY_ALL)
      const position = view.before(key, claim)
      if (!position) throw new Error('It is not in the queue.')
      expect(mayGo(claim, position)).toBe(weight === CAPACITY_ALL ? number === 0 : !excludes)
    }
  }
})

test('an entry that is not in the queue has no position', () => {
  const view = new QueueView([member(1, 1)])
  expect(view.before('k2', { kind: 'semaphore', capacity: 2, weight: 1 })).toBeUndefined()
})

test('a queue in which an entry stands twice is a defect', () => {
  const entry = member(1, 1)
  expect(() => new QueueView([entry, member(2, 1), entry])).toThrow(
    'an entry stands in a queue once',
  )
})
