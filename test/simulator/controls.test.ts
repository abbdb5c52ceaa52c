/**
 * Every broken lock is caught, at about the rate that is expected; the good one among them is not.
 */
import { CONTROLS, goodLock } from '@holdfast/broken-locks'
import { rateOf, scenarioFindings } from '@holdfast/simulator'
import { describe, expect, test } from 'vitest'
import { isFull } from '../support/plan.js'

/**
 * This many seeds are enough to catch the rarest of those that chance catches, with a chance of
 * 99.9%.
 */
const MOST_SEEDS = 205
/** It catches the two rarest at once. From 1 on, 33 seeds are needed for each of them. */
const FIRST_SEED = 33
const GOOD_SEEDS = isFull() ? 100 : 20

describe('the good lock among the controls', () => {
  test(`is clean, in ${GOOD_SEEDS} seeds and in the scenarios`, async () => {
    const { caught } = await rateOf('good', goodLock, { firstSeed: 1, seeds: GOOD_SEEDS })
    expect(caught).toBe(0)
    for (const { id } of CONTROLS) expect((await scenarioFindings(id, goodLock)) ?? []).toEqual([])
  })
})

describe('a broken lock', () => {
  test.each(CONTROLS.map((control) => [control.id, control] as const))(
    '%s is caught',
    async (id, { create }) => {
      const directed = await scenarioFindings(id, create)
      if (directed) {
        expect(directed).not.toEqual([])
        return
      }
      const { first, properties } = await rateOf(id, create, {
        firstSeed: FIRST_SEED,
        seeds: MOST_SEEDS,
        once: true,
      })
      expect(first).toBeDefined()
      expect(properties.size).toBeGreaterThan(0)
    },
  )
})

describe.runIf(isFull())('the rates', () => {
  /**
   * Under the faults of these runs a third of the expected rate is the least that a sound harness
   * reaches.
   */
  const SEEDS = 60
  const often = CONTROLS.filter(({ caught }) => (caught.perSeed ?? 0) >= 0.3)

  test.each(often.map((control) => [control.id, control] as const))(
    'of %s is about what is expected',
    async (id, { create, caught: { perSeed = 0 } }) => {
      const { caught } = await rateOf(id, create, { firstSeed: 1, seeds: SEEDS })
      expect(caught / SEEDS).toBeGreaterThan(perSeed / 3)
    },
  )
})
