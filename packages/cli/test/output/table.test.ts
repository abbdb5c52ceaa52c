/** What fits into a line of a terminal. */
import { expect, test } from 'vitest'
import { cutTo } from '../../dist/output/table.js'

test.each([
  ['fits', 4, 'fits'],
  ['is too long', 6, 'is too'],
  ['分布式锁', 5, '分布'],
  ['e\u0301te\u0301', 3, 'e\u0301te\u0301'],
  ['anything', 0, ''],
])('%j cut to %d columns', (text, columns, cut) => {
  expect(cutTo(columns, text)).toBe(cut)
})
