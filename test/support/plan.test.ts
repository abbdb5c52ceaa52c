import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  COMPUTING,
  firstSeed,
  killRounds,
  leftOut,
  OWN_PROCESS,
  planOf,
  testFiles,
} from './plan.js'

const pathOf = (pattern: string): string => pattern.replace(/\/\*\*.*/, '')

describe('HOLDFAST_TEST', () => {
  test('full leaves out nothing', () => {
    expect(leftOut('full')).toEqual([])
  })

  test('every file that usual leaves out exists, and has a reason', () => {
    for (const { reason, files } of leftOut('usual')) {
      expect(reason).not.toBe('')
      for (const file of files) expect(existsSync(pathOf(file)), file).toBe(true)
    }
  })

  test('fast has only folders that exist, fewer rounds than usual, and a reason for the rest', () => {
    const { computing, ownProcess, waiting } = testFiles('fast')
    for (const pattern of [...waiting, ...COMPUTING, ...OWN_PROCESS]) {
      expect(existsSync(pathOf(pattern)), pattern).toBe(true)
    }
    expect(computing).toEqual([])
    expect(ownProcess).toContain('packages/holdfast/test/lease/hold/forgotten-end.test.ts')
    expect(leftOut('fast')).not.toEqual([])
    expect(killRounds('fast')).toBeLessThan(killRounds('usual'))
  })

  test('refuses a name that is no plan', () => {
    expect(() => planOf('slow')).toThrow('fast, usual, full')
  })
})

test('firstSeed begins where the seeds of a day before ended', () => {
  expect(firstSeed(60) % 60).toBe(1)
})

test('durations.json names only files that exist', () => {
  const recorded = JSON.parse(
    readFileSync(new URL('durations.json', import.meta.url), 'utf8'),
  ) as Record<string, number>
  expect(Object.keys(recorded).filter((file) => !existsSync(file))).toEqual([])
})
