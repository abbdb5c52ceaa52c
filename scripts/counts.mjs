/**
 * How many tests passed, failed and were skipped, and which failed. Each run of vitest adds its
 * counts to a file, and the check prints their sum.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

/**
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {readonly string[]} failures the failed tests, each with its file
 */

/** The variable that names the file. Unset when no sum is needed. */
export const COUNTS_FILE = 'HOLDFAST_TEST_COUNTS'

/** @param {Omit<Counts, 'failures'>} counts */
export function formatCounts({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`
}

/** @param {Counts} counts */
export function addCounts(counts) {
  const file = process.env[COUNTS_FILE]
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(counts)}\n`)
}

/**
 * Returns the sum of what the runs added to the file.
 * @param {string} file
 * @returns {Counts}
 */
export function readCounts(file) {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  return sumCounts(lines.map((line) => JSON.parse(line)))
}

/**
 * @param {readonly Counts[]} all
 * @returns {Counts}
 */
export function sumCounts(all) {
  const sum = { passed: 0, failed: 0, skipped: 0, failures: [] }
  for (const { passed, failed, skipped, failures } of all) {
    sum.passed += passed
    sum.failed += failed
    sum.skipped += skipped
    sum.failures.push(...failures)
  }
  return sum
}
