/** The memory store beside async-mutex, which has no tokens, deadlines, renewal or events. */
import type { Comparable } from '../comparison.js'
import { garbageRows, rate, type Row } from '../report.js'
import { runRounds } from '../rounds.js'
import { median } from '../stats.js'
import type { BenchSuite } from '../suite.js'

const WORKLOADS = [
  { name: 'free', waiters: 1, bar: 0.7 },
  { name: '1 000 waiters', waiters: 1000, bar: 1 },
  { name: '10 000 waiters', waiters: 10_000, bar: 2 },
] as const

const comparable: Comparable = {
  start: () =>
    Promise.resolve({
      subjects: WORKLOADS.map(({ name, waiters }) => ({
        name,
        module: 'memory',
        args: ['holdfast', String(waiters)],
      })),
      stop: () => Promise.resolve(),
    }),
}

export const suite: BenchSuite = { measure, comparable }

async function measure(rounds: number, progress: (text: string) => void): Promise<Row[]> {
  const rows: Row[] = []
  for (const { name, waiters, bar } of WORKLOADS) {
    const results = await runRounds(
      ['holdfast', 'async-mutex'].map((subject) => ({
        name: subject,
        module: 'memory',
        args: [subject, String(waiters)],
      })),
      rounds,
      (text) => progress(`memory, ${name}: ${text}`),
    )
    const pairs = (subject: string): number[] =>
      results.get(subject)?.map((figures) => figures['pairs'] ?? NaN) ?? []
    const [ours, theirs] = [pairs('holdfast'), pairs('async-mutex')]
    const ratio = median(ours.map((value, round) => value / (theirs[round] ?? NaN)))
    rows.push({
      workload: `memory, ${name}: acquire and release`,
      measured: rate(median(ours)),
      against: `${ratio.toFixed(2)}x async-mutex (${rate(median(theirs))})`,
      bar: `≥ ${bar}x`,
      reached: ratio >= bar,
      rounds: { holdfast: ours, 'async-mutex': theirs },
    })
    rows.push(...garbageRows(`memory, ${name}`, results.get('holdfast') ?? []))
  }
  return rows
}
