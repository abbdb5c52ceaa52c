/**
 * Turns the scripts of the stores into TypeScript modules, so that nothing is looked up at run
 * time. They are the Lua of Redis, and the SQL of PostgreSQL and MySQL. Each store gets its
 * `rule/scripts.generated.ts`.
 *
 * - `-- @include parts/x.lua` on a line of its own is replaced by that file.
 * - Each file begins with comments that say what it does, its input and its output. They are left
 *   out. So are the other comments of Lua, since a server reads its scripts again and again.
 * - SQL whose statements end with `//`, as behind `delimiter //`, becomes a list of them.
 * - Constants of Lua, `local NAME, OTHER = 1, 'two'` with names in capitals, are put in by value.
 *
 * The SQL is complete with the default name of the schema, or the default prefix. Another name
 * replaces that one in `schema.ts` of the store.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const stores = join(import.meta.dirname, '../src/stores')
/** The files of each store that are no part of another one. */
const SCRIPTS = {
  redis: ['apply-batch.lua', 'admin.lua', 'fence-check.lua', 'probe.lua'],
  postgres: ['schema.sql'],
  mysql: [
    'tables.sql',
    'routines.sql',
    'plain-attempt.sql',
    'plain-release.sql',
    'plain-retake.sql',
  ],
}
const SCRIPT_TYPE = `export interface Script {
  readonly sha: string
  readonly source: string
}
`
const INCLUDE = /^\s*-- @include (\S+)$/
const CONSTANTS = /^local ([A-Z][A-Z_]*(?:, [A-Z][A-Z_]*)*) = (.+)$/
const LITERAL = /^(?:\d+|'[^']*')$/
const HEADER = /^-- .+\n(?:--.*\n)*-- (?:Input|KEYS) .+\n(?:--.*\n)*-- (?:Output|Returns)\b/

for (const [store, scripts] of Object.entries(SCRIPTS)) {
  const folder = join(stores, store, 'rule')
  /** @type {Set<string>} */
  const read = new Set()
  const constants = scripts.map((file) => constantOf(file, expand(folder, file, read).join('\n')))
  for (const file of readdirSync(folder, { encoding: 'utf8', recursive: true })) {
    if (/\.(lua|sql)$/.test(file) && !read.has(file))
      throw new Error(`No script of ${store} includes ${file}`)
  }
  const path = join(folder, 'scripts.generated.ts')
  const type = store === 'redis' ? [SCRIPT_TYPE] : []
  const text = [
    `// Made by packages/holdfast/scripts/rules.mjs. Change the files of this folder.\n`,
    ...type,
    ...constants,
  ].join('\n')
  // Left alone when nothing changed, so that the compiler has nothing to do either.
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text)
}

/**
 * @param {string} file
 * @param {string} text
 * @returns {string}
 */
function constantOf(file, text) {
  const [name, language] = file.split('.')
  const constant = `export const ${name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())}`
  if (language === 'sql') {
    const statements = text
      .trimEnd()
      .split(/\/\/(?:\n+|$)/)
      .filter((statement) => statement !== '')
    const [value, type] =
      statements.length > 1 ? [statements, ': readonly string[]'] : [`${text.trimEnd()}\n`, '']
    return `${constant}${type} = ${JSON.stringify(value, null, 2)}\n`
  }
  const source = `${inline(text.split('\n')).join('\n')}\n`
  const sha = createHash('sha1').update(source).digest('hex')
  return `${constant}: Script = {\n  sha: '${sha}',\n  source: ${JSON.stringify(source)},\n}\n`
}

/**
 * Returns the lines of a file with those that it includes, without the comments that are left out.
 * @param {string} folder
 * @param {string} file
 * @param {Set<string>} read takes the names of the files
 * @returns {string[]}
 */
function expand(folder, file, read) {
  read.add(file)
  const text = readFileSync(join(folder, file), 'utf8')
  if (!HEADER.test(text)) throw new Error(`${file} does not begin with what it does, input, output`)
  const lines = text.trimEnd().split('\n')
  const isLua = file.endsWith('.lua')
  const start = lines.findIndex((line) => !/^(--|$)/.test(line) || INCLUDE.test(line))
  return lines.slice(start).flatMap((line) => {
    const include = INCLUDE.exec(line)?.[1]
    if (include !== undefined) return [...expand(folder, include, read), ...(isLua ? [] : [''])]
    if (!isLua) return [line]
    const code = line.replace(/^\s*--.*$/, '').trim()
    return code === '' ? [] : [code]
  })
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
