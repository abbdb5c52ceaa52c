/** All suites, found by listing their folder. A store that has none there gets a plain one. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { STORES } from '@holdfast/stores'
import { plainSuite } from './plain-suite.js'
import type { BenchSuite } from './suite.js'

/** The sources, since a build leaves what was made of removed ones. */
const FOLDER = join(import.meta.dirname, '../src/suites')
const own = readdirSync(FOLDER).map((file) => file.replace(/\.ts$/, ''))

export const SUITES: ReadonlyMap<string, BenchSuite> = new Map([
  ...(await Promise.all(own.map(load))),
  ...STORES.filter(({ name }) => !own.includes(name)).map(plainSuite),
])

async function load(name: string): Promise<[string, BenchSuite]> {
  const { suite } = (await import(`./suites/${name}.js`)) as { suite: BenchSuite }
  return [name, suite]
}
