/**
 * The whole check: build, requirements of the tests, types, lint, format, pages, packages, and the
 * tests on this Node. On each other supported Node it runs the tests that depend on Node's version.
 *
 * `npm run check` and `.ci/run` run it. `npm run test:full` runs what takes longer. The last line
 * has the sum of all tests.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COUNTS_FILE, formatCounts, readCounts } from './counts.mjs'
import { OTHER_NODES, onNode, RUNNING_NODE } from './nodes.mjs'
import { node, npm, runSideBySide, runStep, StepFailed } from './steps.mjs'

/** How many steps without servers run at a time: each keeps a core busy. */
const CORES = 2

const folder = mkdtempSync(join(tmpdir(), 'holdfast-check-'))
const countsFile = join(folder, 'counts')
process.env[COUNTS_FILE] = countsFile
const startedMs = performance.now()

try {
  await runStep(npm('build', 'build'))
  await runStep(node('what the tests need', 'scripts/needs.mjs'))
  await runSideBySide(
    [
      // The longest first.
      npm('format', 'format:check'),
      npm('lint', 'lint'),
      node('public API', 'scripts/api.mjs', '--check'),
      npm('words', 'words'),
      npm('types of the tests', 'check:tests'),
      node('guarantees page', 'verification/torture/dist/page.js', '--check'),
      node('reference pages', 'scripts/reference/write.mjs', '--check'),
      node('benchmarks page', 'bench/dist/page.js', '--check'),
      node('age of the recorded results', 'bench/dist/older-results.js'),
      node('packages', 'scripts/packages/check.mjs', '--quick'),
    ],
    CORES,
  )
  await runSideBySide(
    OTHER_NODES.map((version) => ({
      ...onNode(version, 'scripts/test.mjs'),
      env: { HOLDFAST_TEST: 'fast' },
    })),
    CORES,
  )
  await runStep({
    ...node(`usual tests on Node ${RUNNING_NODE}`, 'scripts/test.mjs'),
    env: { HOLDFAST_TEST: 'usual' },
  })
} catch (error) {
  process.exitCode = 1
  if (!(error instanceof StepFailed)) throw error
  console.error(`\n${error.message}`)
} finally {
  report()
}

/** A step that is not a test counts as one where it failed: the line must not look green. */
function report() {
  const sum = readCounts(countsFile)
  rmSync(folder, { recursive: true, force: true })
  if (process.exitCode === 1 && sum.failed === 0) sum.failed = 1
  console.log(`\nThe check took ${minutes(performance.now() - startedMs)} minutes.`)
  console.log(formatCounts(sum))
}

/** @param {number} ms */
function minutes(ms) {
  return (ms / 60_000).toFixed(1)
}
