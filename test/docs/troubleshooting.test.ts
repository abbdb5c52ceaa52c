/** troubleshooting.md has a heading for each error code, and a row for each warning. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './samples/blocks.js'

const page = readFileSync(join(ROOT, 'docs/operate/troubleshooting.md'), 'utf8')

test('each error code has an anchor of its own, and no other code has one', () => {
  const source = readFileSync(join(ROOT, 'packages/holdfast/src/lock-error.ts'), 'utf8')
  const [, union = ''] = /type LockErrorCode =\n((?: +\| '\w+'\n)+)/.exec(source) ?? []
  const codes = Array.from(union.matchAll(/'(\w+)'/g), ([, code]) => code)
  expect(codes.length).toBeGreaterThan(15)
  const headings = Array.from(page.matchAll(/^## ([A-Z_]+)$/gm), ([, code]) => code)
  expect(headings.toSorted()).toEqual(codes.toSorted())
})

test('each warning with a code has a row, and no other one has', () => {
  const found = execFileSync('git', ['grep', '-hoE', `'HOLDFAST_[A-Z0-9_]+'`, '--', ...SOURCES], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  const warnings = new Set(Array.from(found.matchAll(/HOLDFAST_\w+/g), ([code]) => code))
  expect(warnings.size).toBeGreaterThan(3)
  const rows = Array.from(page.matchAll(/^\| `(HOLDFAST_\w+)` +\|/gm), ([, code]) => code)
  expect(rows.toSorted()).toEqual([...warnings].toSorted())
})

/** Warnings come from stores and from the runtime; the command line has variables. */
const SOURCES = ['lease', 'stores', 'locks', 'fence', 'transaction'].map(
  (room) => `packages/holdfast/src/${room}/*.ts`,
)
