/**
 * The table of docs/integrations/README.md has the versions that the tests use. An integration adds
 * a row for each library, and pins the library in a package.json: with an alias such as
 * `nestjs11: npm:@nestjs/core@11.1.9` for a second version. Those of Nest are pinned in a fixture,
 * which scripts/packages/nest-starters.mjs installs.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './samples/blocks.js'

/** The versions of each starter, by major versions of Nest. */
type Starters = Readonly<Record<string, Readonly<Record<string, string>>>>

interface Manifest {
  readonly name: string
  readonly version: string
  readonly devDependencies?: Readonly<Record<string, string>>
}

const STARTERS = join(ROOT, 'scripts/packages/fixtures/nestjs/versions.json')
const ROW = /^\| `([^`]+)` +\| ([\d., a-z-]*\d) +\|/gm

test('each library of the table is installed, in these versions and no others', () => {
  const table = tested()
  expect(table.size).toBeGreaterThan(4)
  const installed = installedVersions()
  expect(table).toEqual(new Map([...table.keys()].map((name) => [name, installed.get(name)])))
})

test('each row of the table has a version', () => {
  expect(rows().filter((row) => !row.match(new RegExp(ROW.source)))).toEqual([])
})

function rows(): string[] {
  const page = readFileSync(join(ROOT, 'docs/integrations/README.md'), 'utf8')
  return page.split('\n').filter((line) => line.startsWith('| `'))
}

/** Returns the versions of the table, by the names of libraries. */
function tested(): Map<string, string[]> {
  const found = rows().join('\n').matchAll(ROW)
  return new Map(Array.from(found, ([, name = '', versions = '']) => [name, versions.split(', ')]))
}

/** Returns the installed versions of what the repository pins, by the real names of packages. */
function installedVersions(): Map<string, string[]> {
  const versions = new Map<string, string[]>()
  function add(name: string, version: string): void {
    const others = versions.get(name) ?? []
    versions.set(name, [...new Set([...others, version])].toSorted(byNumber))
  }
  const packages = join(ROOT, 'packages')
  const starters = JSON.parse(readFileSync(STARTERS, 'utf8')) as Starters
  for (const [name, version] of Object.values(starters).flatMap(Object.entries)) add(name, version)
  for (const folder of [ROOT, ...readdirSync(packages).map((name) => join(packages, name))]) {
    const { devDependencies = {} } = readManifest(join(folder, 'package.json'))
    for (const alias of Object.keys(devDependencies)) {
      const { name, version } = installed(alias, folder)
      add(name, version)
    }
  }
  return versions
}

/** Returns what Node finds under a name: the own folder first, then the one of the root. */
function installed(alias: string, folder: string): Manifest {
  const paths = [folder, ROOT].map((from) => join(from, 'node_modules', alias, 'package.json'))
  const path = paths.find((one) => existsSync(one))
  if (path === undefined) throw new Error(`${alias} is not installed.`)
  return readManifest(path)
}

function byNumber(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}

function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(path, 'utf8')) as Manifest
}
