/**
 * Runs the tests with vitest and prints "N passed, N failed, N skipped" as the last line. Arguments
 * go to vitest. Exits non-zero when a test failed or none ran.
 *
 * `HOLDFAST_TEST_REPORT=FILE` keeps vitest's report (scripts/durations.mjs reads it).
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { addCounts, formatCounts } from './counts.mjs'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'))
const report = process.env.HOLDFAST_TEST_REPORT ?? join(folder, 'report.json')
const vitest = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs')
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]

rmSync(report, { force: true })
const run = spawnSync(process.execPath, [vitest, 'run', ...reporters, ...process.argv.slice(2)], {
  stdio: 'inherit',
})
const counts = readReport()
rmSync(folder, { recursive: true, force: true })
addCounts(counts)
console.log(formatCounts(counts))
process.exitCode = run.status === 0 && counts.passed > 0 ? 0 : run.status || 1

/** @returns {import('./counts.mjs').Counts} */
function readReport() {
  try {
    const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } =
      JSON.parse(readFileSync(report, 'utf8'))
    return {
      passed: numPassedTests,
      failed: numFailedTests,
      skipped: numPendingTests + numTodoTests,
      failures: testResults.flatMap(failuresOf),
    }
  } catch {
    // Vitest wrote no report: it was killed, or its configuration is wrong.
    return { passed: 0, failed: 1, skipped: 0, failures: ['vitest wrote no report'] }
  }
}

/** A file can fail without a test of its own: in a hook, or while it is loaded. */
function failuresOf({ name, status, assertionResults }) {
  const file = relative(process.cwd(), name)
  const failed = assertionResults.filter((test) => test.status === 'failed')
  if (failed.length === 0) return status === 'failed' ? [`${file}: the file failed`] : []
  return failed.map(({ fullName }) => `${file}: ${fullName}`)
}
