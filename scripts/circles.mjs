/**
 * Fails when files import each other in a circle. The linter's `import/no-cycle` sees `import` and
 * `export … from`, types included. This also sees `require`, `import()` and its types.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const COMMENT = /\/\*[^]*?\*\/|^\s*\/\/.*$/gm
const TARGET = /\b(?:from|import|require)\s*\(?\s*(['"])(\.[^'"]*)\1/g

const listed = execFileSync('git', ['ls-files', '--', '*.ts', '*.tsx', '*.mts', '*.mjs'], {
  encoding: 'utf8',
})
const files = new Set(listed.split('\n').filter((file) => file !== '' && existsSync(file)))
const imports = new Map(Array.from(files, (file) => [file, importsOf(file)]))
/** @type {Map<string, 'open' | 'done'>} */
const visited = new Map()
const circles = [...files].flatMap((file) => circlesFrom(file, []))
for (const circle of circles) console.error(`A circle of imports:\n  ${circle.join('\n  ')}`)
process.exitCode = circles.length > 0 ? 1 : 0

/** @returns {string[]} */
function importsOf(/** @type {string} */ file) {
  const text = readFileSync(file, 'utf8').replace(COMMENT, '')
  return [...text.matchAll(TARGET)]
    .map(([, , target = '']) => join(dirname(file), target))
    .map((path) => {
      const names = [path, path.replace(/js$/, 'ts'), path.replace(/js$/, 'tsx')]
      return names.find((name) => files.has(name)) ?? path
    })
    .filter((path) => files.has(path))
}

/** @param {string} file @param {string[]} path @returns {string[][]} circles on the way from it */
function circlesFrom(file, path) {
  if (visited.get(file) === 'open') return [[...path.slice(path.indexOf(file)), file]]
  if (visited.has(file)) return []
  visited.set(file, 'open')
  const found = (imports.get(file) ?? []).flatMap((next) => circlesFrom(next, [...path, file]))
  visited.set(file, 'done')
  return found
}
