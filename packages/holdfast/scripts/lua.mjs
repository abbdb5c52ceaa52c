/**
 * Turns the Lua scripts of the Redis store into a TypeScript module, so that nothing is looked up
 * at run time.
 *
 * - `-- @include parts/x.lua` on a line of its own is replaced by that file.
 * - Constants, `local NAME, OTHER = 1, 'two'` with names in capitals, are put in by value.
 * - Comments on lines of their own are left out.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../src/stores/redis/rule')
const SCRIPTS = ['apply-batch', 'admin', 'fence-check']
const CONSTANTS = /^local ([A-Z][A-Z_]*(?:, [A-Z][A-Z_]*)*) = (.+)$/
const LITERAL = /^(?:\d+|'[^']*')$/

const modules = SCRIPTS.map((name) => {
  const source = `${inline(expand(`${name}.lua`)).join('\n')}\n`
  const sha = createHash('sha1').update(source).digest('hex')
  return `export const ${camelCase(name)}: Script = {\n  sha: '${sha}',\n  source: ${JSON.stringify(source)},\n}\n`
})
const text = `// Made from rule/*.lua by packages/holdfast/scripts/lua.mjs. Change those.
export interface Script {
  readonly sha: string
  readonly source: string
}

${modules.join('\n')}`

const path = join(folder, 'scripts.generated.ts')
// Left alone when nothing changed, so that the compiler has nothing to do either.
if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text)

/**
 * @param {string} name
 * @returns {string}
 */
function camelCase(name) {
  return name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())
}

/**
 * @param {string} file
 * @returns {string[]} lines
 */
function expand(file) {
  return readFileSync(join(folder, file), 'utf8')
    .split('\n')
    .flatMap((line) => {
      const include = /^\s*-- @include (\S+)$/.exec(line)?.[1]
      return include === undefined ? [line.replace(/^\s*--.*$/, '').trim()] : expand(include)
    })
    .filter((line) => line !== '')
}

/**
 * @param {readonly string[]} lines
 * @returns {string[]}
 */
function inline(lines) {
  /** @type {Map<string, string>} */
  const values = new Map()
  const code = lines.filter((line) => {
    const [, names, literals] = CONSTANTS.exec(line) ?? []
    if (names === undefined || literals === undefined) return true
    const list = literals.split(', ')
    for (const [index, name] of names.split(', ').entries()) {
      const literal = list[index]
      if (literal === undefined || !LITERAL.test(literal))
        throw new Error(`${name} is no plain constant: ${line}`)
      values.set(name, literal)
    }
    return false
  })
  // Not inside strings: names of commands are in capitals, too.
  const word = /'[^']*'|"[^"]*"|\b[A-Z][A-Z_]*\b/g
  return code.map((line) => line.replace(word, (found) => values.get(found) ?? found))
}
