/**
 * What the parts of the exhaustive plan came to at this commit, in a file that outlives a stop of
 * the plan. A changed work tree counts as another state.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const FILE = join(ROOT, '.tmp/full-plan.json')

/**
 * @typedef {object} Result
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {number} seconds
 * @property {readonly string[]} failures the failed tests
 * @property {string} [failure] why a step failed
 */

/** @returns {Record<string, Result>} */
export function readResults() {
  if (!existsSync(FILE)) return {}
  const kept = JSON.parse(readFileSync(FILE, 'utf8'))
  return kept.state === state() ? kept.results : {}
}

/** @param {string} name @param {Result} result */
export function keepResult(name, result) {
  const results = { ...readResults(), [name]: result }
  mkdirSync(dirname(FILE), { recursive: true })
  writeFileSync(`${FILE}.new`, JSON.stringify({ state: state(), results }, undefined, 2))
  renameSync(`${FILE}.new`, FILE)
}

/**
 * Returns a table of all parts, and the names of the failed tests.
 * @param {readonly { name: string, minutes: number }[]} parts
 * @param {Record<string, Result>} results
 */
export function formatSummary(parts, results) {
  const rows = parts.map(({ name, minutes }) => {
    const result = results[name]
    if (result === undefined) return `${name.padEnd(14)} not run   about ${minutes} minutes`
    const { passed, failed, skipped, seconds, failure } = result
    const word = failed > 0 || failure !== undefined ? 'FAILED' : 'passed'
    const took = `${(seconds / 60).toFixed(1)} minutes`
    return `${name.padEnd(14)} ${word}    ${took}: ${passed} passed, ${failed} failed, ${skipped} skipped`
  })
  const failures = Object.entries(results).flatMap(([name, { failures: titles, failure }]) => [
    ...(failure === undefined ? [] : [`${name}: ${failure}`]),
    ...titles.map((title) => `${name}: ${title}`),
  ])
  return [...rows, ...failures.map((line) => `  × ${line}`)].join('\n')
}

function state() {
  const commit = git('rev-parse', 'HEAD')
  return git('status', '--porcelain') === '' ? commit : `${commit} and changes`
}

/** @param {string[]} args */
function git(...args) {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}
