/**
 * Compares the processor time for each pair of acquire and release between two builds of the
 * package. Both are loaded into one process, and take turns. The time is that of the client
 * process, which a busy machine changes less than the time by the clock.
 *
 *   node scripts/compare-builds.mjs OLD [NEW]      folders of built packages: …/dist
 *   TURNS=60 CASES=memory,redis:16 node scripts/compare-builds.mjs OLD
 *   RECORD=REVISION node scripts/compare-builds.mjs OLD      writes bench/results/builds.json
 *
 * A case names its store and the way: `run`, or one `hot` lock. A number after a colon says how
 * many callers there are, each with a lock of its own by default. Prints the ratio of the rates,
 * new to old, with the 95% confidence interval of its median.
 */
import { execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { writeResults } from '../bench/dist/report.js'
import { median, medianInterval } from '../bench/dist/stats.js'

const TURNS = Number(process.env['TURNS'] ?? 60)
const CASES = (
  process.env['CASES'] ??
  'memory,memory-run,memory-hot:1000,embedded,embedded:64,redis,redis:64,redis-hot:16,redlock:16,postgres:16,mysql:16'
).split(',')
/** Less than that is slower. */
const BAR = 0.97

const PROGRAM = join(import.meta.dirname, 'compare-builds/measure.mjs')

compare(process.argv.slice(2))

/** @param {string[]} folders */
function compare([old, next = join(import.meta.dirname, '../packages/holdfast/dist')]) {
  if (old === undefined) throw new Error('Usage: node scripts/compare-builds.mjs OLD [NEW]')
  const builds = [resolve(old), resolve(next)]
  const rows = CASES.map((name) => {
    // A process for each case: what one store leaves behind is no cost of the next.
    const args = [PROGRAM, name, String(TURNS), ...builds]
    const times = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
    const row = rowOf(name, times)
    console.log([name, row.measured, row.against, row.reached ? '' : 'SLOWER'].join('  '))
    return row
  })
  if (process.env['RECORD'] !== undefined) writeResults('builds', rows)
  if (rows.some(({ reached }) => !reached)) process.exitCode = 1
}

/** @param {string} name @param {[old: number, next: number][]} times microseconds a pair */
function rowOf(name, times) {
  const [old, next] = [0, 1].map((index) => times.map((pair) => pair[index] ?? NaN))
  const ratios = times.map(([before, now]) => before / now)
  const { low, high } = medianInterval(ratios)
  const range = `${median(ratios).toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`
  return {
    workload: `processor time of the client, ${name}`,
    measured: `${median(next).toFixed(2)} µs a pair`,
    against: `${range} of the rate at ${process.env['RECORD'] ?? 'the other build'}`,
    bar: `not wholly below ${BAR}`,
    reached: high >= BAR,
    rounds: { holdfast: next, before: old },
  }
}
