/** The suite itself: a sound store passes, and each broken store fails the case for its defect. */
import { conformanceCases, type Subject } from '@holdfast/conformance'
import { VirtualClock } from 'holdfast/testing'
import { memoryStore } from 'holdfast/memory'
import { describe, expect, test } from 'vitest'
import { BREAKAGES } from './broken/breakages.js'
import { RuleService, SOUND, type Breakage } from './broken/rule-store.js'

const { traits } = memoryStore()

function subjectOf(breakage: Breakage): Subject {
  const clock = new VirtualClock()
  const service = new RuleService(clock, traits, breakage)
  return {
    name: breakage.name,
    traits,
    clock,
    open: () => service.open(),
    skip: [
      {
        reason: 'it lives in this process',
        tests: ['processes', 'tokens grow through a restart of the service'],
      },
    ],
  }
}

describe('a sound store over the grant rule', () => {
  for (const { group, title, skipped, run } of conformanceCases(subjectOf(SOUND))) {
    if (skipped === undefined) test(`${group}: ${title}`, run)
  }
})

describe('a store that', () => {
  for (const breakage of BREAKAGES) {
    test(`${breakage.name} is caught`, async () => {
      const named = conformanceCases(subjectOf(breakage)).find(
        ({ title }) => title === breakage.caughtBy,
      )
      expect(named, breakage.caughtBy).toBeDefined()
      await expect(named?.run()).rejects.toThrow()
    })
  }
})
