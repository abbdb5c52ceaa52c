/**
 * The shop of the lab: stock in segments, each under a lock of its own, beside one lock for all;
 * both in strict order.
 */
import { ms, rate, type Row } from '../report.js'
import { runRounds } from '../rounds.js'
import { median } from '../stats.js'
import type { BenchSuite } from '../suite.js'

const BAR = 5
const ITEMS = '400'

export const suite: BenchSuite = { measure }

async function measure(rounds: number, progress: (text: string) => void): Promise<Row[]> {
  const results = await runRounds(
    ['striped', 'holdfast-fifo'].map((name) => ({
      name,
      module: 'lab-oversell',
      args: [name, ITEMS],
    })),
    rounds,
    (text) => progress(`lab: ${text}`),
  )
  const figures = (subject: string, name: string): number[] =>
    results.get(subject)?.map((round) => round[name] ?? NaN) ?? []
  const [striped, one] = [figures('striped', 'orders'), figures('holdfast-fifo', 'orders')]
  const ratio = median(striped.map((value, round) => value / (one[round] ?? NaN)))
  const wait = (subject: string): string => `p99 ${ms(median(figures(subject, 'p99Ms')))}`
  return [
    {
      workload: 'striped inventory, 16 segments, 8 processes, strict FIFO, 10 ms inside',
      measured: `${rate(median(striped))}, ${wait('striped')}`,
      against: `one lock ${rate(median(one))}, ${wait('holdfast-fifo')}: ${ratio.toFixed(2)}x`,
      bar: `≥ ${BAR}x`,
      reached: ratio >= BAR,
      rounds: { striped, 'one lock': one },
    },
  ]
}
