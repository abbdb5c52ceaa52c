/**
 * `npm run bench -- [suite …] [--rounds N]`: measures, prints a table, and writes the figures to
 * `bench/results/`. Ends with 1 when a bar was missed.
 */
import { parseArgs } from 'node:util'
import { printTable, writeResults, type Row } from './report.js'
import { checkSuite } from './suites/check.js'
import { cliSuite } from './suites/cli.js'
import { mysqlSuite, postgresSuite } from './suites/databases.js'
import { embeddedSuite } from './suites/embedded.js'
import { heldSuite } from './suites/held.js'
import { labSuite } from './suites/lab.js'
import { etcdSuite, zookeeperSuite } from './suites/services.js'
import { memorySuite } from './suites/memory.js'
import { redisSuite } from './suites/redis.js'

type Suite = (rounds: number, progress: (text: string) => void) => Promise<Row[]>

const SUITES = new Map<string, Suite>([
  ['memory', memorySuite],
  ['embedded', embeddedSuite],
  ['redis', redisSuite],
  ['etcd', etcdSuite],
  ['zookeeper', zookeeperSuite],
  ['held', heldSuite],
  ['postgres', postgresSuite],
  ['mysql', mysqlSuite],
  ['cli', cliSuite],
  ['check', checkSuite],
  ['lab', labSuite],
])
const FEWEST_ROUNDS = 5

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string' } },
})
const rounds = Number(values.rounds ?? FEWEST_ROUNDS)
const names = positionals.length > 0 ? positionals : [...SUITES.keys()]
const unknown = names.find((name) => !SUITES.has(name))

if (unknown !== undefined || !Number.isSafeInteger(rounds) || rounds < FEWEST_ROUNDS) {
  console.error(
    unknown === undefined
      ? `--rounds takes a whole number from ${FEWEST_ROUNDS} on.`
      : `There is no suite "${unknown}". Choose among: ${[...SUITES.keys()].join(', ')}.`,
  )
  process.exitCode = 64
} else {
  await measure(names)
}

async function measure(suites: readonly string[]): Promise<void> {
  let missed = 0
  for (const name of suites) {
    const rows = await (SUITES.get(name) as Suite)(rounds, showProgress)
    if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
    printTable(name, rows)
    console.log(`figures: ${writeResults(name, rows)}`)
    missed += rows.filter((row) => !row.reached).length
  }
  if (missed > 0) process.exitCode = 1
}

function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
  else console.error(text)
}
