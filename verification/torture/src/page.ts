/**
 * Writes `docs/guarantees.md` from the table of promises and the recorded results: `npm run
 * torture:page`. With `--check` it only says whether the page is as it would be written now.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { STORE_NAMES } from '@holdfast/stores'
import { faults, matrix, promises } from './page/matrix.js'
import { commandLine, RECORDINGS_TEXT, recordingsOf } from './page/recordings.js'
import { summary } from './page/summary.js'
import type { Results } from './record.js'

const RESULTS = fileURLToPath(new URL('../results/', import.meta.url))
const PAGE = fileURLToPath(new URL('../../../docs/guarantees.md', import.meta.url))

const NEXT = `[Failure modes](failure-modes.md) has what your program sees under each fault, and
[torture](internals/torture.md) how a run works.`

function main(): Promise<void> {
  return process.argv.includes('--check') ? check() : write()
}

async function write(): Promise<void> {
  writeFileSync(PAGE, await render())
}

async function check(): Promise<void> {
  if (existsSync(PAGE) && readFileSync(PAGE, 'utf8') === (await render())) return
  console.error(
    'docs/guarantees.md is not what verification/torture/results and the table of promises say: npm run torture:page',
  )
  process.exitCode = 1
}

async function render(): Promise<string> {
  const results = readResults()
  const parts = [
    '# Guarantees',
    summary(results),
    NEXT,
    matrix(results),
    faults(),
    promises(),
    RECORDINGS_TEXT,
    ...STORE_NAMES.map((store) => recordingsOf(store, results.get(store))),
    commandLine(results.get('command-line')),
  ]
  const config = await resolveConfig(PAGE)
  return format(parts.join('\n\n'), { ...config, parser: 'markdown' })
}

function readResults(): Map<string, Results> {
  const files = existsSync(RESULTS)
    ? readdirSync(RESULTS).filter((name) => name.endsWith('.json'))
    : []
  return new Map(
    files.map((name) => {
      const results = JSON.parse(readFileSync(`${RESULTS}${name}`, 'utf8')) as Results
      return [results.name, results]
    }),
  )
}

await main()
