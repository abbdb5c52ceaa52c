/**
 * Records how long each test file takes, from a report of vitest, for the order in which the files
 * begin (test/support/longest-first.ts):
 *
 *     HOLDFAST_TEST_REPORT=report.json npm test && node scripts/durations.mjs report.json
 *
 * Files of the report replace what was recorded of them; files that are gone are dropped.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const root = join(import.meta.dirname, '..')
const recorded = join(root, 'test/support/durations.json')
const [report] = process.argv.slice(2)
if (report === undefined) {
  console.error('Usage: node scripts/durations.mjs REPORT')
  process.exit(64)
}

/** @type {Record<string, number>} */
const seconds = existsSync(recorded) ? JSON.parse(readFileSync(recorded, 'utf8')) : {}
for (const { name, startTime, endTime } of JSON.parse(readFileSync(report, 'utf8')).testResults) {
  seconds[relative(root, name)] = Math.round((endTime - startTime) / 100) / 10
}
const lines = Object.entries(seconds)
  .filter(([file]) => existsSync(join(root, file)))
  .toSorted(([, a], [, b]) => b - a)
writeFileSync(recorded, `${JSON.stringify(Object.fromEntries(lines), undefined, 2)}\n`)
