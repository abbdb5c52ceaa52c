/**
 * Runs the tests with vitest and ends with one plain line, "N passed, N failed, N skipped", for
 * whoever reads only the end. Arguments go to vitest. Exits non-zero when a test failed or none
 * ran.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'))
const report = join(folder, 'report.json')
const vitest = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs')
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]

const run = spawnSync(process.execPath, [vitest, 'run', ...reporters, ...process.argv.slice(2)], {
  stdio: 'inherit',
})
const counts = readCounts()
rmSync(folder, { recursive: true, force: true })
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
process.exitCode = run.status === 0 && counts.passed > 0 ? 0 : run.status || 1

function readCounts() {
  try {
    const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(
      readFileSync(report, 'utf8'),
    )
    return {
      passed: numPassedTests,
      failed: numFailedTests,
      skipped: numPendingTests + numTodoTests,
    }
  } catch {
    // Vitest died before it could report.
    return { passed: 0, failed: 1, skipped: 0 }
  }
}
