/** The page of the recordings, from what was recorded. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { recordingsOf } from '@holdfast/torture'

test('a loss that was known before its deadline stands as in time', () => {
  const file = new URL('../../verification/torture/results/redlock.json', import.meta.url)
  const results = JSON.parse(readFileSync(file, 'utf8')) as NonNullable<
    Parameters<typeof recordingsOf>[1]
  >
  const pause = recordingsOf('redlock', results)
    .split('\n')
    .find((line) => line.includes('id="redlock-pause"'))
  expect(pause).toMatch(/\| in time +\|$/)
})
