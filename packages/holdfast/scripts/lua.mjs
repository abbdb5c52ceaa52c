/**
 * Turns the Lua scripts of the Redis store into a TypeScript module, so that nothing is looked up at run time.
 *
 * `-- @include parts/x.lua` on a line of its own is replaced by that file. Comments on lines of their own are left out.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../src/stores/redis')
const SCRIPTS = ['work', 'admin']

const modules = SCRIPTS.map((name) => {
  const source = `${expand(`${name}.lua`)}\n`
  const sha = createHash('sha1').update(source).digest('hex')
  return `export const ${name}: Script = {\n  sha: '${sha}',\n  source: ${JSON.stringify(source)},\n}\n`
})
const text = `// Made from scripts/*.lua by packages/holdfast/scripts/lua.mjs. Change those.
export interface Script {
  readonly sha: string
  readonly source: string
}

${modules.join('\n')}`

const path = join(folder, 'scripts.generated.ts')
// Left alone when nothing changed, so that the compiler has nothing to do either.
if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text)

/** @param {string} file */
function expand(file) {
  return readFileSync(join(folder, 'scripts', file), 'utf8')
    .split('\n')
    .map((line) => {
      const include = /^-- @include (\S+)$/.exec(line)?.[1]
      return include === undefined ? line.replace(/^\s*--.*$/, '').trim() : expand(include)
    })
    .filter((line) => line !== '')
    .join('\n')
}
