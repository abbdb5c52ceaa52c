/** Deadlocks in the simulator: every ring is broken, and nothing else is reported. */
import { exploreRings, mutated, RING_MUTATIONS, RING_STORES } from '@holdfast/simulator'
import { describe, expect, test } from 'vitest'
import { firstSeed, isFull } from '../support/plan.js'

const SEEDS = isFull() ? 300 : 30
const FIRST_SEED = firstSeed(SEEDS)
/** A rare moment shows in one seed of three hundred. */
const MOST_SEEDS = 1500

describe('the real runtime', () => {
  test.each(RING_STORES)(
    `breaks the rings of ${SEEDS} seeds over the model "%s", from ${FIRST_SEED} on`,
    { timeout: 300_000 },
    async (store) => {
      const tally = await exploreRings({ store, firstSeed: FIRST_SEED, seeds: SEEDS })
      expect(tally.failed).toEqual([])
      // Rings must have been there, or nothing was shown.
      expect(tally.reports).toBeGreaterThan(SEEDS / 2)
    },
  )
})

test.each(['wall', 'redis'] as const)(
  'leases of a killed process that a clock step lengthens end by themselves, model "%s"',
  async (store) => {
    // The clock of the server goes back by 57 s while a killed process holds two locks.
    const { failed } = await exploreRings({ store, firstSeed: 2656, seeds: 1 })
    expect(failed).toEqual([])
  },
)

describe('a runtime that is broken on purpose', () => {
  test.each(RING_MUTATIONS.map((mutation) => [mutation.name, mutation] as const))(
    '%s is caught',
    { timeout: 300_000 },
    async (_name, mutation) => {
      const runtime = await mutated(mutation)
      const search = (firstSeed: number, seeds: number) =>
        exploreRings({
          store: mutation.store ?? 'memory',
          firstSeed,
          seeds,
          runtime,
          isOver: (tally) => tally.failed.length > 0,
        })
      let { failed } = await search(mutation.seed, 1)
      if (failed.length === 0) ({ failed } = await search(1, MOST_SEEDS))
      const [{ findings } = { findings: [] }] = failed
      expect(findings.map(({ property }) => property)).toContain(mutation.as)
    },
  )
})
