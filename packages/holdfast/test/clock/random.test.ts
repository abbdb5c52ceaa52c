import { systemRandom } from 'holdfast'
import { expect, test } from 'vitest'

test('ids can be written on a command line: none looks like an option', () => {
  const ids = Array.from({ length: 5000 }, () => systemRandom.id())
  expect(ids.filter((id) => !/^\w[\w-]{15}$/.test(id))).toEqual([])
  expect(new Set(ids).size).toBe(ids.length)
})
