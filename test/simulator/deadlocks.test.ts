/** Deadlocks in the simulator: every deadlock is broken, and nothing else is reported. */
import { exploreDeadlocks, mutated, DEADLOCK_MUTATIONS, DEADLOCK_STORES } from '@holdfast/simulator'
import { describe, expect, test } from 'vitest'
import { firstSeed, isFull } from '../support/plan.js'

const SEEDS = isFull() ? 300 : 30
const FIRST_SEED = firstSeed(SEEDS)
/** For each seed, since the exhaustive plan has ten times as many, and beside load one took 1 s. */
const SEED_LIMIT_MS = 3_000
/** A rare moment shows in one seed of three hundred. */
const MOST_SEEDS = 1500

describe('the real runtime', () => {
  test.each(DEADLOCK_STORES)(
    `breaks the deadlocks of ${SEEDS} seeds over the model "%s", from ${FIRST_SEED} on`,
    { timeout: SEEDS * SEED_LIMIT_MS },
    async (store) => {
      const tally = await exploreDeadlocks({ store, firstSeed: FIRST_SEED, seeds: SEEDS })
      expect(tally.failed).toEqual([])
      // Deadlocks must have been there, or nothing was shown. Most seeds have none.
      expect(tally.reports).toBeGreaterThan(SEEDS / 2)
    },
  )
})

test.each(['wall', 'redis'] as const)(
  'leases of a killed process that a clock step lengthens end by themselves, model "%s"',
  async (store) => {
    // The clock of the server goes back by 57 s while a killed process holds two locks.
    const { failed } = await exploreDeadlocks({ store, firstSeed: 2656, seeds: 1 })
    expect(failed).toEqual([])
  },
)

describe('a runtime that is broken on purpose', () => {
  test.each(DEADLOCK_MUTATIONS.map((mutation) => [mutation.name, mutation] as const))(
    '%s is caught',
    async (_name, mutation) => {
      const runtime = await mutated(mutation)
      const search = (firstSeed: number, seeds: number) =>
        exploreDeadlocks({
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
