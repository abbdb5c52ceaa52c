/** The pages of the reference are what the sources say, and the tables of the guide have it all. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { membersOf } from '../../scripts/reference/interfaces.mjs'
import { TABLES } from '../../scripts/reference/options-page.mjs'
import { ROOT } from './samples/blocks.js'

/** For simulations: a page may leave them out. */
const SIMULATED = ['clock', 'random']
const STORES = ['memory', 'embedded', 'redis', 'redlock', 'postgres', 'mysql', 'etcd', 'zookeeper']

test('the pages of options and commands are as the sources make them', () => {
  execFileSync(process.execPath, ['scripts/reference/write.mjs', '--check'], { cwd: ROOT })
}, 120_000) // it starts each command of the command line

test('the guide has each option of a client and of a lock', () => {
  const shown = optionsOf('docs/guide/options.md')
  const declared = ['LocksOptions', 'LockOptions'].flatMap(namesOf)
  expect(shown.toSorted()).toEqual(declared.filter((name) => !SIMULATED.includes(name)).toSorted())
})

describe.each(STORES)('the page of %s', (store) => {
  const page = `docs/stores/${store}.md`

  test('has each option of the store', () => {
    const [table] = TABLES.filter(({ title }) => title === `\`${store}Store\``)
    const shown = optionsOf(page).filter((name) => !SIMULATED.includes(name))
    const declared = namesOf(table?.name ?? '').filter((name) => !SIMULATED.includes(name))
    expect(shown).toEqual(declared.toSorted())
  })

  test('has the same headings as the others', () => {
    const headings = read(page).match(/^## (How it works|Promised|Not promised)$/gm)
    expect(headings).toEqual(['## How it works', '## Promised', '## Not promised'])
  })
})

test('every store has its page', () => {
  const pages = readdirSync(join(ROOT, 'docs/stores')).filter((name) => name !== 'README.md')
  expect(pages.toSorted()).toEqual(STORES.map((name) => `${name}.md`).toSorted())
})

function read(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8')
}

/** Returns the options of all tables whose column has this head. */
function optionsOf(page: string): string[] {
  const tables = read(page).matchAll(/^\| option .*\n\|[ -|]+\n((?:\|.*\n)+)/gm)
  const rows = Array.from(tables, ([, table = '']) => table).join('')
  return Array.from(rows.matchAll(/^\| `(\w+)`/gm), ([, name = '']) => name).toSorted()
}

function namesOf(name: string): string[] {
  const table = TABLES.find((one) => one.name === name)
  if (table === undefined) throw new Error(`No table is made of ${name}.`)
  return membersOf(join(ROOT, table.file), name).map((member) => member.name)
}
