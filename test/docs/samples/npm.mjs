/**
 * Stands for `npm` and `npx` in the commands of the pages: nothing is fetched. Packages must be
 * published ones, and scripts, files and topics of the lab must exist.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = process.env.ROOT
const HOLDFAST = join(ROOT, 'packages/holdfast/bin/holdfast.cjs')
/** Packages that stand in the repository under another name, or not at all. */
const OTHERS = ['ioredis', '@photostructure/sqlite@1.2.1']

const [, , program, ...args] = process.argv
if (program === 'npm') npm(args)
else npx(args)

function npm([command, ...rest]) {
  if (['ci', 'init', 'test'].includes(command)) return
  if (command === 'run') return assert(rest[0] in manifest('.').scripts, `no script ${rest[0]}`)
  assert(command === 'install', `npm ${command} is unknown here`)
  const packages = rest.filter((word) => !word.startsWith('-'))
  for (const name of packages)
    assert(OTHERS.includes(name) || isPublished(name), `${name} is not published`)
}

function npx([command, ...rest]) {
  if (command === 'vitest') return assert(existsSync(join(ROOT, rest.at(-1))), rest.join(' '))
  assert(command === 'holdfast', `npx ${command} is unknown here`)
  if (rest[0] !== 'lab' || rest[1] === 'strategies') return holdfast(rest, 'inherit')
  // The rest of the lab has tests of its own, so only its words are checked here.
  const help = labHelp()
  for (const word of rest.slice(1).filter((part) => !part.endsWith('.html')))
    assert(new RegExp(`(^|\\s)${word}\\b`).test(help), `the lab does not know ${word}`)
}

/** Asked once for each page: it takes a quarter of a second. */
function labHelp() {
  const file = 'lab-help'
  if (!existsSync(file)) writeFileSync(file, holdfast(['lab', '--help'], 'pipe').stdout)
  return readFileSync(file, 'utf8')
}

function holdfast(rest, stdio) {
  const ended = spawnSync(process.execPath, [HOLDFAST, ...rest], { stdio, encoding: 'utf8' })
  process.exitCode = ended.status ?? 1
  return ended
}

function isPublished(name) {
  const folder = join('packages', name.replace('@holdfast/', ''))
  if (existsSync(join(ROOT, folder))) return manifest(folder).private !== true
  return existsSync(join(ROOT, 'node_modules', name))
}

function manifest(folder) {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
}

function assert(condition, message) {
  if (!condition) throw new Error(message)
}
