/** The good lock: the real runtime keeps every promise under every fault, in each store model. */
import { drawCase, examine, explore, STORE_NAMES } from '@holdfast/simulator'
import { describe, expect, test } from 'vitest'
import { firstSeed, isFull } from '../support/plan.js'

const SEEDS = isFull() ? 270 : 22
/** Each seed computes for up to a second, at a low priority beside other files. */
const LIMIT_MS = SEEDS * 10_000
const FIRST_SEED = firstSeed(SEEDS)

describe('the real runtime', () => {
  test.each(STORE_NAMES)(
    `keeps its promises over the model "%s", in ${SEEDS} seeds from ${FIRST_SEED} on`,
    { timeout: LIMIT_MS },
    async (store) => {
      const tally = await explore({ store, firstSeed: FIRST_SEED, seeds: SEEDS })
      expect(tally.failed).toEqual([])
      // Much must have happened, or nothing was shown.
      expect(tally.holds).toBeGreaterThan(50 * SEEDS)
      expect(tally.faults).toBeGreaterThan(2 * SEEDS)
      // A part of the cases breaks what a store needs to exclude. The share of few seeds varies.
      expect(tally.exclusionPromised).toBeGreaterThan((isFull() ? 0.6 : 0.4) * SEEDS)
    },
  )

  test.each(['memory', 'redis', 'redis-worker', 'etcd-queue', 'zookeeper-queue'] as const)(
    'runs the same again from the same seed, over %s',
    async (store) => {
      const [one, two] = [await examine(drawCase(11, store)), await examine(drawCase(11, store))]
      expect(one.outcome.events).toEqual(two.outcome.events)
      expect(one.outcome.serverHolds).toEqual(two.outcome.serverHolds)
      expect(one.outcome.steps).toBe(two.outcome.steps)
    },
  )

  test('runs differently from another seed', async () => {
    const [one, two] = [
      await examine(drawCase(11, 'memory')),
      await examine(drawCase(12, 'memory')),
    ]
    expect(one.outcome.events).not.toEqual(two.outcome.events)
  })
})
