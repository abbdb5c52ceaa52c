/**
 * The checkers find nothing in histories of a lock that keeps its promises. Those histories have
 * every kind of event.
 */
import {
  checkHistory,
  formatEvent,
  holdsOf,
  parseHistory,
  type HistoryEvent,
} from '@holdfast/conformance'
import { describe, expect, test } from 'vitest'
import { todaysPart } from '../../../../test/support/plan.js'
import { goodHistory } from './support/good/history.js'
import type { GoodLockOptions } from './support/good/world.js'

/** A hundred, or a quarter of them, another quarter each day. */
const SEEDS = todaysPart(
  Array.from({ length: 100 }, (_, index) => index + 1),
  4,
)
const kinds: Record<string, Omit<GoodLockOptions, 'seed' | 'faults'>> = {
  'a mutex in strict order': {
    capacity: 1,
    weights: [1, 1, 1],
    cohorts: false,
    processes: 3,
    rounds: 10,
  },
  'a mutex with cohorts': {
    capacity: 1,
    weights: Array(8).fill(1),
    cohorts: true,
    processes: 3,
    rounds: 15,
  },
  'a semaphore': { capacity: 4, weights: [1, 2, 3], cohorts: false, processes: 3, rounds: 10 },
  'readers and writers': {
    capacity: 100,
    weights: [1, 1, 100],
    cohorts: false,
    processes: 3,
    rounds: 10,
  },
}

function broken(history: readonly HistoryEvent[], cohorts: boolean): string[] {
  const promised = {
    held: true,
    truth: true,
    release: true,
    fifo: cohorts ? true : { inARow: 0 },
    liveness: { healedNs: 0n, boundNs: 20_000_000_000n },
    counter: true,
  }
  return checkHistory(history, { promised }).map(
    ({ property, message }) => `${property}: ${message}`,
  )
}

describe.each(Object.entries(kinds))('%s', (_name, kind) => {
  test.each([false, true])('passes, with faults: %s', async (faults) => {
    let holds = 0
    for (const seed of SEEDS) {
      const history = await goodHistory({ ...kind, faults, seed })
      expect(broken(history, kind.cohorts), `seed ${seed}`).toEqual([])
      holds += holdsOf(history).length
    }
    const wanted = SEEDS.length * kind.processes * kind.weights.length * kind.rounds
    if (!faults) expect(holds).toBe(wanted)
    expect(holds).toBeGreaterThan(wanted / 3)
  })
})

test('the histories have every event of a lock, and are the same after writing and reading', async () => {
  const seen = new Set<string>()
  for (const [seed, kind] of Object.values(kinds).entries()) {
    const history = await goodHistory({ ...kind, faults: true, processes: 9, seed })
    for (const { f, type } of history) seen.add(`${f} ${type}`)
    expect(parseHistory(history.map((event) => `${formatEvent(event)}\n`).join(''))).toEqual(
      history,
    )
  }
  const all = [
    'acquire ok',
    'enqueued info',
    'renew ok',
    'renew fail',
    'downgrade ok',
    'held ok',
    'held fail',
    'kill info',
  ]
  const rest = ['release ok', 'release fail', 'write ok', 'write fail', 'read ok', 'truth info']
  expect([...seen]).toEqual(expect.arrayContaining([...all, ...rest]))
})
