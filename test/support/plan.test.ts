import { describe, expect, test } from 'vitest'
import { killRounds, leftOut, planOf } from './plan.js'

describe('HOLDFAST_TEST', () => {
  test('leaves nothing out unless it says fast', () => {
    expect(leftOut(planOf('full'))).toEqual([])
    expect(leftOut(planOf('usual'))).toEqual([])
    expect(leftOut(planOf('fast'))).not.toEqual([])
    expect(killRounds('fast')).toBeLessThan(killRounds('usual'))
  })

  test('refuses what it does not know', () => {
    expect(() => planOf('slow')).toThrow('fast, usual, full')
  })
})
