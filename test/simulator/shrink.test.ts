/**
 * Shrinking and telling: what is left of a failing case still fails, is smaller, and says what
 * happened.
 */
import {
  drawCase,
  examine,
  MUTATIONS,
  mutated,
  promisesOf,
  shrink,
  tellStory,
} from '@holdfast/simulator'
import { describe, expect, test } from 'vitest'

describe('a failing case', () => {
  test('is cut down to what still breaks the same promise, and printed', async () => {
    const mutation = MUTATIONS.find(({ name }) => name === 'capacity-ignored')
    const runtime = await mutated(mutation ?? expect.unreachable())
    const plan = drawCase(1, 'memory')
    const fails = async (candidate: typeof plan): Promise<boolean> =>
      (await examine(candidate, runtime)).findings.some(({ property }) => property === 'exclusion')
    expect(await fails(plan)).toBe(true)

    const cut = await shrink(plan, fails, { mostRuns: 300 })
    const { outcome, findings } = await examine(cut, runtime)
    const finding =
      findings.find(({ property }) => property === 'exclusion') ?? expect.unreachable()
    expect(cut.actors.length).toBeLessThan(plan.actors.length)
    expect(cut.faults.length).toBeLessThanOrEqual(plan.faults.length)

    const story = tellStory(cut, outcome, finding)
    expect(story).toContain('broken: exclusion')
    expect(story).toMatch(/acquire ok .*token/)
    expect(story).toMatch(/server: \S+ of claim \S+, token \d+ begins/)
  })

  test('that nothing can be taken from stays as it is', async () => {
    const plan = drawCase(2, 'memory')
    expect(await shrink(plan, () => Promise.resolve(false), { mostRuns: 50 })).toBe(plan)
  })
})

describe('what is promised', () => {
  const calm = { ...drawCase(1, 'wall'), faults: [] }
  const loss = { kind: 'server-flush', atMs: 5000, forMs: 0 } as const
  const back = { kind: 'server-clock-step', atMs: 4000, forMs: 0, byMs: -1000 } as const

  test('is everything without faults', () => {
    expect(promisesOf(calm)).toEqual({
      exclusionUntilMs: Infinity,
      exclusion: true,
      release: true,
      tokens: true,
      order: true,
      liveness: true,
      because: [],
    })
  })

  test('is exclusion until the server forgets, and tokens as long as its clock does not go back, too', () => {
    const forgetful = promisesOf({ ...calm, faults: [loss] })
    expect(forgetful).toMatchObject({
      exclusionUntilMs: 5000,
      exclusion: false,
      tokens: true,
      release: true,
    })
    const both = promisesOf({ ...calm, faults: [back, loss] })
    expect(both).toMatchObject({
      exclusionUntilMs: 0,
      tokens: false,
      release: false,
      liveness: false,
    })
    expect(both.because).toHaveLength(3)
  })

  test('is not touched by a step of a clock that ends no leases', () => {
    const stepped = promisesOf({ ...calm, store: 'memory', faults: [back] })
    expect(stepped).toMatchObject({ exclusion: true, tokens: true, liveness: true })
  })
})
