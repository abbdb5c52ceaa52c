/**
 * How many tests passed, failed and were skipped. Each run of vitest adds its counts to a file, and
 * the check prints their sum.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/** The variable that names the file. Unset when no sum is needed. */
export const COUNTS_FILE = 'HOLDFAST_TEST_COUNTS'

/** @param {Counts} counts */
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
export function sumCounts(file) {
  const sum = { passed: 0, failed: 0, skipped: 0 }
  if (!existsSync(file)) return sum
  for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
    const counts = JSON.parse(line)
    for (const key of Object.keys(sum)) sum[key] += counts[key]
  }
  return sum
}
