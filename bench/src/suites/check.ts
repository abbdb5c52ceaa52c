/** The checkers on the history of a million holds. */
import type { Row } from '../report.js'
import { runRounds } from '../rounds.js'
import { median } from '../stats.js'
import type { BenchSuite } from '../suite.js'

const HOLDS = 1_000_000

interface Workload {
  readonly subject: string
  readonly name: string
  /** Seconds that it may take; undefined where the figure is only reported. */
  readonly bar: number | undefined
}

const WORKLOADS: readonly Workload[] = [
  { subject: 'mutex', name: 'exclusion and tokens of a mutex', bar: 5 },
  { subject: 'readers', name: 'exclusion and tokens of six holders at a time', bar: 5 },
  { subject: 'all', name: 'every promise, with the truth of the server', bar: undefined },
  { subject: 'read', name: 'reading five million lines', bar: undefined },
]

export const suite: BenchSuite = { measure }

async function measure(rounds: number, progress: (text: string) => void): Promise<Row[]> {
  const rows: Row[] = []
  for (const { subject, name, bar } of WORKLOADS) {
    const one = { name: subject, module: 'check', args: [subject, String(HOLDS)] }
    const results = await runRounds([one], rounds, (text) => progress(`check, ${name}: ${text}`))
    const seconds = (results.get(subject) ?? []).map((figures) => figures['seconds'] ?? NaN)
    const value = median(seconds)
    rows.push({
      workload: `a million holds: ${name}`,
      measured: `${value.toFixed(2)} s`,
      against: '',
      bar: bar === undefined ? '' : `< ${bar} s`,
      reached: bar === undefined || value < bar,
      rounds: { seconds },
    })
  }
  return rows
}
