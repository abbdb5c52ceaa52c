/** How much longer `holdfast run` takes to start and end than Node alone. */
import { nodeOf } from '../other-node.js'
import { ms, type Row } from '../report.js'
import { runRounds, type Figures } from '../rounds.js'
import { median } from '../stats.js'
import type { BenchSuite } from '../suite.js'

const BAR_MS = 45
/** The versions of Node that must reach the bar. */
const VERSIONS = ['20', '24']
const SUBJECTS = ['run', 'node']

export const suite: BenchSuite = { measure }

async function measure(rounds: number, progress: (text: string) => void): Promise<Row[]> {
  const nodes = VERSIONS.flatMap((version) => {
    const node = nodeOf(version)
    if (node === undefined) progress(`command line: no row for Node ${version}, npx cannot get it`)
    return node === undefined ? [] : [{ version, node }]
  })
  const subjects = nodes.flatMap(({ version, node }) =>
    SUBJECTS.map((subject) => ({
      name: `${subject} ${version}`,
      module: 'cli',
      args: [subject, node],
    })),
  )
  const results = await runRounds(subjects, rounds, (text) => progress(`command line: ${text}`))
  return nodes.map(({ version }) => rowOf(version, results))
}

function rowOf(version: string, results: ReadonlyMap<string, readonly Figures[]>): Row {
  const times = (subject: string): number[] =>
    results.get(`${subject} ${version}`)?.map((figures) => figures['p50Ms'] ?? NaN) ?? []
  const [run, node] = [times('run'), times('node')]
  const overhead = median(run.map((value, round) => value - (node[round] ?? NaN)))
  return {
    workload: `holdfast run NAME -- true, over node -e 0, Node ${version}`,
    measured: `+ ${ms(overhead)}`,
    against: `node ${ms(median(node))}`,
    bar: `≤ ${ms(BAR_MS)}`,
    reached: overhead <= BAR_MS,
    rounds: { run, node },
  }
}
