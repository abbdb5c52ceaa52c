/**
 * The tests of every store on the newest servers that Debian has. There are two runs, since some
 * stores have two kinds of server: the descriptor of a store lists them.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { STORES } from '@holdfast/stores'

const ROOT = join(import.meta.dirname, '../..')
const COMMANDS = 'packages/holdfast/test/cli/commands/'
const commandTests = readdirSync(join(ROOT, COMMANDS))
/** Tests of the servers, and those that several stores share. */
const SHARED = [
  'test/servers/',
  ...['rule', 'transaction', 'oversell'].map((folder) => `test/${folder}/`),
  'packages/holdfast/test/sql/',
  `${COMMANDS}databases`,
]

/** The servers, and parts of the paths of their tests. */
export const NEWEST_RUNS = ['newest', 'newest-forks'].map((name, index) => {
  const stores = STORES.filter(({ service }) => service.newest?.[index] !== undefined)
  return {
    name,
    servers: [...new Set(stores.map(({ service }) => service.newest[index].name))],
    tests: [...SHARED, ...stores.flatMap(testsOf)],
  }
})

/** @param {{ name: string }} store */
function testsOf({ name }) {
  const traps = `packages/holdfast/test/${name}/`
  return [
    `test/conformance/${name}`,
    ...(existsSync(join(ROOT, traps)) ? [traps] : []),
    ...(commandTests.some((file) => file.startsWith(name)) ? [`${COMMANDS}${name}`] : []),
  ]
}
