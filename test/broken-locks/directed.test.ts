/**
 * Every control does its damage in the least scenario that shows its trap, and its cure does not.
 */
import { CONTROLS, goodLock } from '@holdfast/broken-locks'
import { describe, expect, test } from 'vitest'
import { LADDER } from './scenarios/ladder.js'
import { LEASES } from './scenarios/leases.js'
import { OTHERS } from './scenarios/others.js'
import type { Scenario } from './support/scenario.js'
import { World } from './support/world.js'

const SCENARIOS = new Map<string, Scenario>(Object.entries({ ...LADDER, ...LEASES, ...OTHERS }))

test('every control has its scenario, and every scenario its control', () => {
  expect([...SCENARIOS.keys()].sort()).toEqual(CONTROLS.map(({ id }) => id).sort())
})

describe.each(CONTROLS)('$id', ({ id, create }) => {
  const { run, ttlMs, curedBy } = SCENARIOS.get(id) as Scenario
  const cure = CONTROLS.find((control) => control.id === curedBy)?.create ?? goodLock

  test('does its damage', async () => {
    expect(await run(new World(create, ttlMs))).toBe(true)
  })

  test(`is cured by ${curedBy ?? 'the good lock'}`, async () => {
    expect(await run(new World(cure, ttlMs))).toBe(false)
  })
})
