import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { killRounds, leftOut, planOf } from './plan.js'

describe('HOLDFAST_TEST', () => {
  test('leaves nothing out of full, and elsewhere only files that exist, with a reason', () => {
    expect(leftOut(planOf('full'))).toEqual([])
    expect(leftOut(planOf('fast')).length).toBeGreaterThan(leftOut(planOf('usual')).length)
    for (const { reason, files } of leftOut(planOf('fast'))) {
      expect(reason).not.toBe('')
      for (const file of files) expect(existsSync(file.replace('/**', '')), file).toBe(true)
    }
    expect(killRounds('fast')).toBeLessThan(killRounds('usual'))
  })

  test('refuses what it does not know', () => {
    expect(() => planOf('slow')).toThrow('fast, usual, full')
  })
})
