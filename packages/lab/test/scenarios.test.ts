/**
 * The scenarios, really played: what is broken shows its damage each time, and what is right never
 * does.
 */
import {
  everyday,
  EVERYDAY,
  ladder,
  Oversell,
  STRATEGIES,
  Visit,
  type OversellSettings,
} from '../dist/index.js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isFull } from '../../../test/support/plan.js'

const SMALL: OversellSettings = {
  items: 16,
  buyers: 48,
  processes: 3,
  segments: 4,
  thinkMs: 5,
  strategies: [],
}

/** What takes a minute runs in the full plan. */
const testInFull = test.runIf(isFull())

let visit: Visit

beforeEach(() => {
  visit = new Visit(() => true)
})

afterEach(() => visit.end())

const watcher = { began: () => {}, sold: () => {} }

describe('lab oversell', () => {
  testInFull('every strategy does what is expected of it', { timeout: 240_000 }, async () => {
    const run = new Oversell(SMALL, visit.services)
    visit.keep(() => run.end())
    const { rows, leftOut } = await run.run(watcher)
    expect(leftOut).toEqual([])
    expect(rows.map(({ strategy }) => strategy)).toEqual(STRATEGIES.map(({ id }) => id))
    for (const row of rows) {
      expect(row, row.strategy).toMatchObject({ damaged: !row.sound })
      // Right means all that was there, and not one more.
      if (row.sound) expect(row.sold, row.strategy).toBe(SMALL.items)
    }
  })

  test('runs on SQLite alone, and says what it left out', { timeout: 120_000 }, async () => {
    visit.services.allow(() => false)
    const strategies = [
      'no-lock',
      'released-before-commit',
      'holdfast-embedded',
      'holdfast-redis',
      'striped',
    ]
    const run = new Oversell({ ...SMALL, strategies }, visit.services)
    visit.keep(() => run.end())
    const { rows, leftOut } = await run.run(watcher)
    expect(rows.map(({ strategy, shop, damaged }) => ({ strategy, shop, damaged }))).toEqual([
      { strategy: 'no-lock', shop: 'sqlite', damaged: true },
      { strategy: 'holdfast-embedded', shop: 'sqlite', damaged: false },
      { strategy: 'striped', shop: 'sqlite', damaged: false },
    ])
    expect(leftOut).toEqual([
      { strategy: 'released-before-commit', missing: 'postgres' },
      { strategy: 'holdfast-redis', missing: 'redis' },
    ])
  })
})

testInFull(
  'lab ladder: each fault breaks its rung and not the next one',
  { timeout: 120_000 },
  async () => {
    const result = await ladder(
      visit.services,
      () => {},
      () => {},
      visit.keep,
    )
    expect(
      result?.steps.map(({ fault, broken, cured }) => [fault, broken.broke, cured.broke]),
    ).toEqual([
      ['v1-setnx', true, false],
      ['v2-setnx-expire', true, false],
      ['v3-plain-del', true, false],
      ['v4-owner', true, false],
      ['v5-watchdog', true, false],
      ['v6-reentrant', true, false],
      ['v6-failover', true, false],
    ])
  },
)

describe.each(EVERYDAY.map((scenario) => [scenario.id, scenario] as const))(
  'lab %s',
  (_id, scenario) => {
    test('there is damage without a lock, and none with it', async () => {
      expect(await everyday(scenario, visit.keep)).toMatchObject({ asExpected: true })
    })
  },
)
