import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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
import { PARTS } from '../../scripts/plan/parts.mjs'

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

test('each test file belongs to one part of the exhaustive plan', () => {
  const files = [...readdirSync('packages').map((name) => `packages/${name}/test`), 'test']
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => {
      const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      return names.filter((name) => name.endsWith('.test.ts')).map((name) => join(folder, name))
    })
  const runs = PARTS.flatMap(({ steps }) => steps).filter(
    ({ env }) => env?.['HOLDFAST_TEST'] === 'full',
  )
  const runsOf = (file: string): number =>
    runs.filter(({ args }) => args.some((part) => file.includes(part))).length
  expect(files.length).toBeGreaterThan(200)
  expect(files.filter((file) => runsOf(file) !== 1)).toEqual([])
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
