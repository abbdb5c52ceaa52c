/**
 * The exhaustive plan, in parts that run one after the other:
 *
 *     npm run test:full                    every part
 *     npm run test:full -- newest torture  these parts
 *     npm run test:full -- --missing       those that have not passed at this commit
 *     npm run test:full -- --list          the parts, and what is known of them at this commit
 *
 * Each part that ends is written down at once, so that a stop loses the running part alone. A part
 * that fails does not hold up the next one. The last line has the sum of all tests of this run.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COUNTS_FILE, formatCounts, readCounts } from '../counts.mjs'
import { endRunningSteps, runStep, StepFailed } from '../steps.mjs'
import { NEWEST, PARTS, PREPARATION } from './parts.mjs'
import { formatSummary, keepResult, readResults } from './summary.mjs'

const chosen = choose(process.argv.slice(2))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-full-'))
const startedMs = performance.now()
const ran = new Set()

for (const [signal, number] of Object.entries({ SIGHUP: 1, SIGINT: 2, SIGTERM: 15 })) {
  process.once(signal, () => {
    endRunningSteps(signal)
    report()
    process.exit(128 + number)
  })
}

if (NEWEST === 'none') console.log('The newest servers are left out: HOLDFAST_NEWEST is none.')
try {
  for (const step of PREPARATION) await runStep(step)
  for (const [index, part] of chosen.entries()) {
    console.log(`\n══ ${part.name} (${index + 1} of ${chosen.length}): ${part.title}`)
    await runPart(part)
  }
} catch (error) {
  process.exitCode = 1
  if (!(error instanceof StepFailed)) throw error
  console.error(`\n${error.message}`)
}
report()

/** @param {import('./parts.mjs').Part} part */
async function runPart({ name, steps }) {
  const countsFile = join(folder, name)
  process.env[COUNTS_FILE] = countsFile
  const partStartedMs = performance.now()
  let failure
  try {
    for (const step of steps) await runStep(step)
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error
    failure = error.message
    process.exitCode = 1
    console.error(`\n${failure}`)
  }
  keepResult(name, {
    ...readCounts(countsFile),
    seconds: Math.round((performance.now() - partStartedMs) / 1000),
    ...(failure === undefined ? {} : { failure }),
  })
  ran.add(name)
}

function report() {
  rmSync(folder, { recursive: true, force: true })
  const results = readResults()
  console.log(`\n${formatSummary(PARTS, results)}`)
  console.log(`\nThis run took ${((performance.now() - startedMs) / 60_000).toFixed(1)} minutes.`)
  const sum = { passed: 0, failed: 0, skipped: 0 }
  for (const name of ran) {
    for (const key of Object.keys(sum)) sum[key] += results[name][key]
  }
  // A step that is not a test counts as one where it failed: the line must not look green.
  if (process.exitCode === 1 && sum.failed === 0) sum.failed = 1
  console.log(formatCounts(sum))
}

/** @param {readonly string[]} words */
function choose(words) {
  const results = readResults()
  if (words.includes('--list')) {
    console.log(formatSummary(PARTS, results))
    process.exit()
  }
  if (words.includes('--missing')) return PARTS.filter(({ name }) => !passed(results[name]))
  const unknown = words.filter((word) => !PARTS.some(({ name }) => name === word))
  if (unknown.length > 0) {
    const names = PARTS.map(({ name }) => name).join(', ')
    console.error(`There is no part ${unknown.join(', ')}. Choose among: ${names}.`)
    process.exit(64)
  }
  return words.length === 0 ? PARTS : PARTS.filter(({ name }) => words.includes(name))
}

function passed(result) {
  return result !== undefined && result.failed === 0 && result.failure === undefined
}
