/**
 * `npm run bench -- [suite …] [--rounds N]`: measures, prints a table, and writes the figures to
 * `bench/results/`. Ends with 1 when a bar was missed.
 *
 * `npm run bench -- --quick`: the main ratios beside the peers, in two minutes.
 *
 * `npm run bench -- --foreign`: beside clients of other languages, which it builds first.
 *
 * `npm run bench -- [suite …] --before PATH [--rounds N] [--only REGEXP]`: compares this checkout
 * with another built one, and writes the figures to `bench/results/before/`.
 */
import { parseArgs } from 'node:util'
import { resolve } from 'node:path'
import { compare } from './comparison.js'
import { measureForeign } from './foreign/foreign.js'
import { measureQuick } from './quick.js'
import { printTable, writeResults, type Row } from './report.js'
import type { BenchSuite } from './suite.js'
import { SUITES } from './suites.js'

/** Suites that can be compared with another checkout. */
const comparable = [...SUITES].flatMap(([name, suite]) => (suite.comparable ? [name] : []))
const FEWEST_ROUNDS = 5
/** The interval of a median needs more rounds than the median. */
const ROUNDS_OF_COMPARISON = 9
const USAGE_ERROR = 64
const USAGE = `npm run bench -- [suite …] [--rounds N]
npm run bench -- [suite …] --before PATH [--rounds N] [--only REGEXP]
npm run bench -- --quick
npm run bench -- --foreign [--rounds N]

  --quick         print the main ratios beside the peers, in two minutes
  --foreign       run beside clients in Go, Java and Python
  --rounds N      how often each subject runs
                  (default ${FEWEST_ROUNDS}, or ${ROUNDS_OF_COMPARISON} with --before)
  --before PATH   compare with another built checkout, in alternation
  --only REGEXP   only the workloads whose name matches; with --before
  --help          show this

suites: ${[...SUITES.keys()].join(', ')}
suites that can be compared: ${comparable.join(', ')}`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    before: { type: 'string' },
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    foreign: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const { before, only } = values
const suites = before === undefined ? [...SUITES.keys()] : comparable
const rounds = Number(
  values.rounds ?? (before === undefined ? FEWEST_ROUNDS : ROUNDS_OF_COMPARISON),
)
const names = positionals.length > 0 ? positionals : suites
const unknown = names.find((name) => !suites.includes(name))

if (values.help) {
  console.log(USAGE)
} else if (values.quick) {
  await measureQuick(showProgress)
} else if (unknown !== undefined) {
  console.error(`There is no suite "${unknown}". Choose among: ${suites.join(', ')}.`)
  process.exitCode = USAGE_ERROR
} else if (!Number.isSafeInteger(rounds) || rounds < FEWEST_ROUNDS) {
  console.error(`--rounds takes a whole number from ${FEWEST_ROUNDS} on.`)
  process.exitCode = USAGE_ERROR
} else if (values.foreign) {
  await besideOtherLanguages()
} else if (before === undefined) {
  await measure(names)
} else {
  for (const name of names) {
    const { comparable: one } = SUITES.get(name) as Required<BenchSuite>
    const options = {
      before: resolve(before),
      rounds,
      only: new RegExp(only),
      progress: showProgress,
    }
    console.log(`figures: ${await compare(name, one, options)}`)
  }
}

async function besideOtherLanguages(): Promise<void> {
  const { rows, leftOut } = await measureForeign(rounds, showProgress)
  for (const reason of leftOut) console.log(reason)
  if (rows.length > 0) show('beside clients of other languages', rows)
  if (leftOut.length > 0) console.log('Not recorded, since peers are left out.')
  else console.log(`figures: ${writeResults('foreign', rows)}`)
}

async function measure(chosen: readonly string[]): Promise<void> {
  for (const name of chosen) {
    const rows = await (SUITES.get(name) as BenchSuite).measure(rounds, showProgress)
    show(name, rows)
    console.log(`figures: ${writeResults(name, rows)}`)
  }
}

function show(title: string, rows: readonly Row[]): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  printTable(title, rows)
  if (rows.some((row) => !row.reached)) process.exitCode = 1
}

function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
  else console.error(text)
}
