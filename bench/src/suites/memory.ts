/**
 * The memory store beside async-mutex, which has no tokens, deadlines, renewal or events, and `run`
 * beside what it replaces.
 */
import type { Comparable } from '../comparison.js'
import { inWords, pair } from '../paired.js'
import { garbageRows, rate, type Row } from '../report.js'
import { runRounds } from '../rounds.js'
import { median } from '../stats.js'
import type { BenchSuite } from '../suite.js'

const WORKLOADS = [
  { name: 'free', args: ['1'], bar: 1 },
  { name: '1 000 waiters', args: ['1000'], bar: 1 },
  { name: '10 000 waiters', args: ['10000'], bar: 2 },
  { name: '10 000 waiters, first seconds of a process', args: ['10000', 'cold'], bar: 2 },
] as const
/** What a run may take of the processor, beside the same by hand. */
const RUN_BAR = 1.4
const RUN = { name: 'run', module: 'memory-run', args: ['run'] }
const BY_HAND = { name: 'by hand', module: 'memory-run', args: ['by-hand'] }

const comparable: Comparable = {
  start: () =>
    Promise.resolve({
      subjects: [
        ...WORKLOADS.map(({ name, args }) => ({
          name,
          module: 'memory',
          args: ['holdfast', ...args],
        })),
        RUN,
      ],
      stop: () => Promise.resolve(),
    }),
}

export const suite: BenchSuite = { measure, comparable }

async function measure(rounds: number, progress: (text: string) => void): Promise<Row[]> {
  const rows: Row[] = []
  for (const { name, args, bar } of WORKLOADS) {
    const results = await runRounds(
      ['holdfast', 'async-mutex'].map((subject) => ({
        name: subject,
        module: 'memory',
        args: [subject, ...args],
      })),
      rounds,
      (text) => progress(`memory, ${name}: ${text}`),
    )
    const pairs = (subject: string): number[] =>
      results.get(subject)?.map((figures) => figures['pairs'] ?? NaN) ?? []
    const [ours, theirs] = [pairs('holdfast'), pairs('async-mutex')]
    const paired = pair(ours, theirs)
    rows.push({
      workload: `memory, ${name}: acquire and release`,
      measured: rate(median(ours)),
      against: `${inWords(paired)} async-mutex (${rate(median(theirs))})`,
      bar: `≥ ${bar}x`,
      reached: paired.ratio >= bar,
      rounds: { holdfast: ours, 'async-mutex': theirs },
    })
    rows.push(...garbageRows(`memory, ${name}`, results.get('holdfast') ?? []))
  }
  return [...rows, ...(await measureRun(rounds, progress))]
}

async function measureRun(rounds: number, progress: (text: string) => void): Promise<Row[]> {
  const results = await runRounds([RUN, BY_HAND], rounds, (text) => progress(`memory, ${text}`))
  const figures = results.get('run') ?? []
  const [run, byHand] = ['run', 'by hand'].map(
    (subject) => results.get(subject)?.map(({ clientUs }) => clientUs ?? NaN) ?? [],
  ) as [number[], number[]]
  const paired = pair(run, byHand)
  const row = {
    workload: 'memory, run: processor time',
    measured: `${median(run).toFixed(2)} µs`,
    against: `${inWords(paired)} acquire, context and release by hand (${median(byHand).toFixed(2)} µs)`,
    bar: `≤ ${RUN_BAR}x`,
    reached: paired.ratio <= RUN_BAR,
    rounds: { run, 'by hand': byHand },
  }
  return [row, ...garbageRows('memory, run', figures)]
}
