/**
 * The embedded store: alone, on one hot lock among processes, from hand to hand, and after a kill.
 */
import type { Comparable } from '../comparison.js'
import { inWords, medianRate, pair, ratesOf } from '../paired.js'
import { garbageRows, ms, rate, type Row } from '../report.js'
import { runRounds, type BenchSubject } from '../rounds.js'
import { median } from '../stats.js'
import type { BenchSuite } from '../suite.js'

interface Workload extends BenchSubject {
  readonly figure: string
  /** What must be reached; undefined where a figure is only reported. */
  readonly bar: number | undefined
  readonly kind: 'rate' | 'time'
}

const WORKLOADS: readonly Workload[] = [
  {
    name: 'free locks, 64 in flight, one process',
    module: 'embedded-alone',
    args: ['64'],
    figure: 'pairs',
    bar: 30_000,
    kind: 'rate',
  },
  {
    name: 'free lock, one at a time, verbs of the store',
    module: 'embedded-alone',
    args: ['verbs'],
    figure: 'pairs',
    bar: undefined,
    kind: 'rate',
  },
  {
    name: 'one hot lock, 4 processes x 16 waiters, fifo',
    module: 'embedded-hot',
    args: ['fifo'],
    figure: 'pairs',
    bar: 5000,
    kind: 'rate',
  },
  {
    name: 'one hot lock, 4 processes x 16 waiters, cohort',
    module: 'embedded-hot',
    args: ['cohort'],
    figure: 'pairs',
    bar: 40_000,
    kind: 'rate',
  },
  {
    name: 'hand-off between two processes, p50',
    module: 'embedded-handoff',
    args: ['release'],
    figure: 'p50Ms',
    bar: 1,
    kind: 'time',
  },
  {
    name: 'SIGKILL of the holder to the next holder, p50',
    module: 'embedded-handoff',
    args: ['kill'],
    figure: 'p50Ms',
    bar: 50,
    kind: 'time',
  },
]

/** How many locks each of the four processes and of the one process works with at a time. */
const LOOPS = [1, 64]
/** What four processes on different locks must reach beside one process. */
const LEAST_RATIO = 1.5

const comparable: Comparable = {
  start: () => Promise.resolve({ subjects: WORKLOADS, stop: () => Promise.resolve() }),
}

export const suite: BenchSuite = { measure, comparable }

async function measure(rounds: number, progress: (text: string) => void): Promise<Row[]> {
  const rows: Row[] = []
  for (const workload of WORKLOADS) {
    const results = await runRounds([workload], rounds, (text) => progress(`embedded, ${text}`))
    const figures = results.get(workload.name) ?? []
    const values = figures.map((round) => round[workload.figure] ?? NaN)
    const value = median(values)
    const extra = ['p99Ms', 'maxMs'].flatMap((name) => {
      const all = figures.flatMap((round) => round[name] ?? [])
      return all.length > 0 ? [`${name.replace('Ms', '')} ${ms(median(all))}`] : []
    })
    rows.push({
      workload: `embedded, ${workload.name}`,
      measured: workload.kind === 'rate' ? rate(value) : ms(value),
      against: extra.join(', '),
      ...judge(workload, value),
      rounds: { [workload.figure]: values },
    })
    rows.push(...garbageRows(`embedded, ${workload.name}`, figures))
  }
  for (const loops of LOOPS) rows.push(await fourBesideOne(loops, rounds, progress))
  return rows
}

/** Four processes and one, each on locks of its own, in turns. */
async function fourBesideOne(
  loops: number,
  rounds: number,
  progress: (text: string) => void,
): Promise<Row> {
  const subjects = [4, 1].map((processes) => ({
    name: `${processes} x ${loops}`,
    module: 'embedded-files',
    args: [String(processes), String(loops)],
  }))
  const results = await runRounds(subjects, rounds, (text) => progress(`embedded, ${text}`))
  const [four, one] = subjects.map(({ name }) => results.get(name) ?? [])
  const [ofFour, ofOne] = [ratesOf(four), ratesOf(one)]
  const paired = pair(ofFour, ofOne)
  const [usOfFour, usOfOne] = [four, one].map((figures) =>
    (figures ?? []).map(({ cpuUsPerPair = NaN }) => cpuUsPerPair),
  )
  const work = inWords(pair(usOfFour ?? [], usOfOne ?? []))
  return {
    workload: `embedded, four processes on different locks, ${loops === 1 ? 'one at a time' : `${loops} in flight`} each`,
    measured: medianRate(ofFour),
    against: `${inWords(paired)} of one process, ${medianRate(ofOne)}; ${work} of its processor time a pair`,
    bar: `≥ ${LEAST_RATIO}x`,
    reached: paired.ratio >= LEAST_RATIO,
    rounds: { four: ofFour, one: ofOne },
  }
}

function judge({ bar, kind }: Workload, value: number): Pick<Row, 'bar' | 'reached'> {
  if (bar === undefined) return { bar: '', reached: true }
  return kind === 'rate'
    ? { bar: `≥ ${rate(bar)}`, reached: value >= bar }
    : { bar: `< ${ms(bar)}`, reached: value < bar }
}
