/** The table of the READMEs: Holdfast on Redis beside the fastest other library. */
import type { Results, Row } from './report.js'
import { median } from './stats.js'

/** What stands in one language's table. */
export interface Words {
  readonly head: readonly string[]
  readonly workload: (name: string) => string
}

const BEGIN = '<!-- made by npm run bench:page -->'
const END = '<!-- until here -->'

export const ENGLISH: Words = {
  head: ['workload', 'Holdfast', 'the fastest other library', 'throughput'],
  workload: (name) => name,
}

const CHINESE_NAMES: readonly (readonly [RegExp, string])[] = [
  [/^free lock, one at a time$/, '空闲的锁,一次一把'],
  [/^free locks, (\d+) in flight$/, '空闲的锁,$1 把同时进行'],
  [
    /^one hot lock, 4 processes x 16 waiters, cohort$/,
    '一把热锁,4 个进程 × 16 个等待者,同一进程内接力(默认)',
  ],
  [/^one hot lock, 4 processes x 16 waiters, fifo$/, '同上,严格先来先得'],
  [/^one hot lock, 4 processes x 16 waiters, 1 ms of work$/, '同上,锁内工作 1 ms'],
]

export const CHINESE: Words = {
  head: ['场景', 'Holdfast', '最快的其他库', '吞吐量之比'],
  workload: (name) =>
    CHINESE_NAMES.reduce(
      (text, [pattern, replacement]) => text.replace(pattern, replacement),
      name,
    ),
}

/** A README with the table in its place. */
export function withPeersTable(readme: string, redis: Results | undefined, words: Words): string {
  const [start, end] = [readme.indexOf(BEGIN), readme.indexOf(END)]
  if (start < 0 || end < start)
    throw new Error(`A README has no place for the table: ${BEGIN} … ${END}`)
  if (!redis) return readme
  const lines = redis.rows.filter(hasPeers).map((row) => line(row, words))
  const table = [words.head, words.head.map(() => '---'), ...lines].map(
    (cells) => `| ${cells.join(' | ')} |`,
  )
  return `${readme.slice(0, start)}${BEGIN}\n\n${table.join('\n')}\n\n${readme.slice(end)}`
}

/** Holdfast comes first among the subjects of a row. */
function hasPeers({ against }: Row): boolean {
  return against !== ''
}

function line({ workload, measured, against, rounds }: Row, words: Words): readonly string[] {
  const [own, ...peers] = Object.entries(rounds)
  const [best] = peers.toSorted(([, a], [, b]) => median(b) - median(a))
  if (!own || !best) throw new Error(`No peer stands beside Holdfast in "${workload}".`)
  const [[, ours], [fastest, rates]] = [own, best]
  const said = against.split('; ').find((text) => text.startsWith(`${fastest} `)) ?? fastest
  const ratio = median(ours) / median(rates)
  return [
    words.workload(workload.replace(/^redis, /, '')),
    measured,
    said,
    `${ratio.toFixed(ratio < 10 ? 2 : 0)}x`,
  ]
}
