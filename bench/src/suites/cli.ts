/** How much longer `holdfast run` takes to start and end than Node alone. */
import { ms, type Row } from '../report.js'
import { runRounds } from '../rounds.js'
import { median } from '../stats.js'
import type { BenchSuite } from '../suite.js'

const BAR_MS = 45

export const suite: BenchSuite = { measure }

async function measure(rounds: number, progress: (text: string) => void): Promise<Row[]> {
  const results = await runRounds(
    ['run', 'node'].map((subject) => ({ name: subject, module: 'cli', args: [subject] })),
    rounds,
    (text) => progress(`command line: ${text}`),
  )
  const times = (subject: string): number[] =>
    results.get(subject)?.map((figures) => figures['p50Ms'] ?? NaN) ?? []
  const [run, node] = [times('run'), times('node')]
  const overhead = median(run.map((value, round) => value - (node[round] ?? NaN)))
  return [
    {
      workload: 'holdfast run NAME -- true, over node -e 0',
      measured: `+ ${ms(overhead)}`,
      against: `node ${ms(median(node))}`,
      bar: `≤ ${ms(BAR_MS)}`,
      reached: overhead <= BAR_MS,
      rounds: { run, node },
    },
  ]
}
