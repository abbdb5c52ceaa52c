/** What fits into a terminal, and what stays whole. */
import { expect, test } from 'vitest'
import { cutTo, displayWidth, leftOutColumns, renderTable } from '../../../dist/cli/output/table.js'
import { hasColour, widthOf } from '../../../dist/cli/output/terminal.js'

test.each([
  ['fits', 4, 'fits'],
  ['is too long', 6, 'is too'],
  ['分布式锁', 5, '分布'],
  ['e\u0301te\u0301', 3, 'e\u0301te\u0301'],
  ['anything', 0, ''],
])('%j cut to %d columns', (text, columns, cut) => {
  expect(cutTo(columns, text)).toBe(cut)
})

interface Row {
  readonly name: string
  readonly token: string
  readonly label: string
}

const NAME = 'a-lock-with-a-name-that-is-longer-than-half-of-a-terminal'
const ROWS: readonly Row[] = [
  { name: 'short', token: '1795562033558000', label: 'a label of some length that may shrink' },
  { name: NAME, token: '2', label: 'x' },
]
const COLUMNS = [
  { title: 'LOCK', cell: ({ name }: Row) => name },
  { title: 'TOKEN', cell: ({ token }: Row) => token, right: true, optional: 1 },
  { title: 'LABEL', cell: ({ label }: Row) => label, optional: 2, shrinksTo: 10 },
]

const lines = (width?: number): string[] =>
  renderTable(ROWS, COLUMNS, width === undefined ? {} : { width })
    .trimEnd()
    .split('\n')

test('a pipe gets every cell whole, one line for each row', () => {
  expect(lines()).toHaveLength(3)
  for (const { name, token, label } of ROWS) {
    expect(lines().some((line) => [name, token, label].every((cell) => line.includes(cell)))).toBe(
      true,
    )
  }
})

test.each([100, 80, 60, 40, 20])('a terminal of %d columns shows each name whole', (width) => {
  const shown = lines(width)
  expect(shown.some((line) => line.startsWith('short'))).toBe(true)
  expect(shown.some((line) => line.includes(NAME))).toBe(true)
  const others = shown.filter((line) => !line.includes(NAME))
  for (const line of others) expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(width, 60))
})

test('columns are left out in their order, and named', () => {
  expect(leftOutColumns(ROWS, COLUMNS, 200)).toEqual([])
  expect(leftOutColumns(ROWS, COLUMNS, 75)).toEqual(['TOKEN'])
  expect(leftOutColumns(ROWS, COLUMNS, 30)).toEqual(['TOKEN', 'LABEL'])
})

test.each([
  [{ isTTY: true, columns: 80 }, 80],
  [{ isTTY: true, columns: 0 }, 80],
  [{ isTTY: false, columns: 80 }, Infinity],
  [{}, Infinity],
])('the width of %j', (stream, width) => {
  expect(widthOf(stream)).toBe(width)
})

test.each([
  [{ isTTY: true }, {}, true],
  [{ isTTY: false }, {}, false],
  [{ isTTY: true }, { NO_COLOR: '1' }, false],
  [{ isTTY: true }, { NO_COLOR: '' }, true],
  [{ isTTY: true }, { TERM: 'dumb' }, false],
  [{ isTTY: false }, { FORCE_COLOR: '1' }, true],
  [{ isTTY: true }, { FORCE_COLOR: '0' }, false],
  [{ isTTY: false }, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
])('colour for %j with %j', (stream, env, expected) => {
  expect(hasColour(stream, env)).toBe(expected)
})
