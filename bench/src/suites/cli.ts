/** What `holdfast run` costs over the bare command. */
import { ms, type Row } from '../report.js'
import { runRounds } from '../rounds.js'
import { median } from '../stats.js'

const BAR_MS = 100

export async function cliSuite(rounds: number, progress: (text: string) => void): Promise<Row[]> {
  const results = await runRounds(
    ['run', 'bare'].map((subject) => ({ name: subject, module: 'cli', args: [subject] })),
    rounds,
    (text) => progress(`command line: ${text}`),
  )
  const times = (subject: string): number[] =>
    results.get(subject)?.map((figures) => figures['p50Ms'] ?? NaN) ?? []
  const [run, bare] = [times('run'), times('bare')]
  const overhead = median(run.map((value, round) => value - (bare[round] ?? NaN)))
  return [
    {
      workload: 'holdfast run NAME -- true, over the bare command',
      measured: `+ ${ms(overhead)}`,
      against: `bare ${ms(median(bare))}`,
      bar: `< ${ms(BAR_MS)}`,
      reached: overhead < BAR_MS,
      rounds: { run, bare },
    },
  ]
}
