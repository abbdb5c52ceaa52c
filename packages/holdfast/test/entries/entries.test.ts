/** Each entry has one implementation: `import` finds all that `require` gives, and the same. */
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'

const require = createRequire(import.meta.url)

function entriesOf(name: string): string[] {
  const { exports } = require(`${name}/package.json`) as { exports: Record<string, unknown> }
  return Object.keys(exports)
    .filter((entry) => entry !== './package.json')
    .map((entry) => entry.replace('.', name))
}

// Node finds the names of a CommonJS module by reading it, so Node itself imports here.
const PROGRAM = `
  import { createRequire } from 'node:module'
  const [entry] = process.argv.slice(1)
  const [imported, required] = [await import(entry), createRequire(process.cwd() + '/x')(entry)]
  const names = Object.keys(required)
  const differing = names.filter((name) => imported[name] !== required[name])
  console.log(JSON.stringify({ count: names.length, differing }))`

test.each(
  ['holdfast', '@holdfast/conformance', '@holdfast/fastify', '@holdfast/nestjs'].flatMap(entriesOf),
)('%s gives import and require the same', (entry) => {
  const args = ['--input-type=module', '--eval', PROGRAM, entry]
  const printed = execFileSync(process.execPath, args, {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  })
  const { count, differing } = JSON.parse(printed) as { count: number; differing: string[] }
  expect(differing).toEqual([])
  expect(count).toBeGreaterThan(0)
})
