/**
 * Breaking any single promise in the real runtime turns a run red, by the very seed or scenario
 * that the documentation names. The real runtime is clean there.
 */
import {
  catchMutation,
  drawCase,
  examine,
  examineScenario,
  mutatedFiles,
  MUTATIONS,
  SCENARIOS,
} from '@holdfast/simulator'
import { describe, expect, test } from 'vitest'
import { todaysPart } from '../support/plan.js'
import { documentedTable } from './support/documented.js'

const documented = documentedTable('mutation')

describe('a runtime that is broken on purpose', () => {
  test('is documented, with what catches it', () => {
    expect([...documented.keys()]).toEqual(MUTATIONS.map(({ name }) => name))
  })

  // Those that are left to another day would go stale unseen.
  test.each(MUTATIONS.map((mutation) => [mutation.name, mutation] as const))(
    '%s fits the code as it is',
    (_name, mutation) => {
      expect(mutatedFiles(mutation)).not.toEqual(new Map())
    },
  )

  test.each(todaysPart(MUTATIONS, 3).map((mutation) => [mutation.name, mutation] as const))(
    '%s is caught',
    async (name, mutation) => {
      const [, by = '', as = ''] = documented.get(name) ?? []
      const seed = Number(/seed (\d+)/.exec(by)?.[1] ?? 1)
      const { findings } = await catchMutation(mutation, seed, 1)
      const properties = [...new Set(findings.map(({ property }) => property))]
      expect(properties.join(', ')).toBe(as)
      expect(properties).not.toEqual([])
      if (mutation.scenario !== undefined) return
      const { findings: real } = await examine(drawCase(seed, mutation.store ?? 'memory'))
      expect(real).toEqual([])
    },
  )
})

describe('the real runtime', () => {
  test.each(SCENARIOS.map((scenario) => [scenario.name, scenario] as const))(
    'is clean in the scenario %s',
    async (_name, scenario) => {
      const { findings, outcome } = await examineScenario(scenario)
      expect(findings).toEqual([])
      expect(outcome.events.length).toBeGreaterThan(0)
    },
  )
})
