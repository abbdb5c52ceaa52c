/** Each way to open a store has a file here, which runs the suite over it. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { STORES } from '@holdfast/stores'
import { expect, test } from 'vitest'

test.each(STORES)('the suite runs over $name', ({ name, service: { libraries } }) => {
  const used = [...libraries.daily, ...(libraries.others ?? [])]
  const missing = used.filter((library) => !isThere(`${name}-${library}`))
  expect(isThere(name) || (used.length > 0 && missing.length === 0)).toBe(true)
})

function isThere(file: string): boolean {
  return existsSync(join(import.meta.dirname, `${file}.test.ts`))
}
