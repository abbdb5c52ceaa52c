/**
 * `npm run bench -- redis --before PATH`: this checkout beside another built one, such as the state
 * before a change. Both run the same subjects in alternation. A figure is compared only within a
 * pair of runs, since a shared machine is faster in one minute than in the next.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { recordedOn } from './report.js'
import { runSubject, type BenchSubject, type Figures } from './rounds.js'
import { median, medianInterval, type Interval } from './stats.js'

/** What a suite has of its own: subjects without peers. */
export interface Comparable {
  /** Starts what the subjects need. */
  start(): Promise<{ readonly subjects: readonly BenchSubject[]; stop(): Promise<void> }>
}

/** One figure of one subject, in both checkouts. */
interface Compared {
  readonly workload: string
  readonly figure: string
  /** Medians. */
  readonly now: number
  readonly before: number
  /** Median of the ratios now / before within a pair, and its 95% confidence interval. */
  readonly ratio: number
  readonly interval: Interval
  readonly pairs: { readonly now: readonly number[]; readonly before: readonly number[] }
}

interface Pair {
  readonly now: Figures
  readonly before: Figures
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export interface ComparisonOptions {
  /** The other checkout, built. */
  readonly before: string
  readonly rounds: number
  /** Only subjects whose name matches. */
  readonly only: RegExp
  readonly progress: (text: string) => void
}

/** Prints and records the comparison. Resolves to the path of the file. */
export async function compare(
  suite: string,
  comparable: Comparable,
  { before, rounds, only, progress }: ComparisonOptions,
): Promise<string> {
  const started = await comparable.start()
  try {
    const rows: Compared[] = []
    for (const subject of started.subjects.filter(({ name }) => only.test(name))) {
      const pairs: Pair[] = []
      for (let round = 0; round <= rounds; round += 1) {
        progress(`${suite}, ${subject.name}: ${round === 0 ? 'warm-up' : `pair ${round}`}`)
        const pair = await runPair(subject, before, round)
        if (round > 0) pairs.push(pair)
      }
      const compared = compareFigures(subject.name, pairs)
      for (const row of compared) print(row)
      rows.push(...compared)
    }
    return write(suite, rows)
  } finally {
    await started.stop()
  }
}

/** The checkout that runs first changes from pair to pair. */
async function runPair(subject: BenchSubject, before: string, round: number): Promise<Pair> {
  if (round % 2 === 0) {
    const now = await runSubject(subject, ROOT)
    return { now, before: await runSubject(subject, before) }
  }
  const figures = await runSubject(subject, before)
  return { now: await runSubject(subject, ROOT), before: figures }
}

function compareFigures(workload: string, pairs: readonly Pair[]): Compared[] {
  const names = Object.keys(pairs[0]?.now ?? {})
  return names.map((figure) => {
    const now = pairs.map((pair) => pair.now[figure] ?? NaN)
    const before = pairs.map((pair) => pair.before[figure] ?? NaN)
    // On a machine that is too busy a run may end without a single pair.
    const ratios = now.map((value, index) => value / (before[index] ?? NaN)).filter(Number.isFinite)
    return {
      workload,
      figure,
      now: median(now),
      before: median(before),
      ratio: median(ratios),
      interval: medianInterval(ratios),
      pairs: { now, before },
    }
  })
}

function print({ workload, figure, now, before, ratio, interval }: Compared): void {
  const { low, high } = interval
  const range = `${ratio.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`
  const cells = [workload.padEnd(52), figure.padEnd(16), short(now), short(before), range]
  console.log(cells.join('  '))
}

function short(value: number): string {
  return value.toPrecision(4).padStart(10)
}

function write(suite: string, rows: readonly Compared[]): string {
  const folder = fileURLToPath(new URL('../results/before/', import.meta.url))
  mkdirSync(folder, { recursive: true })
  const path = `${folder}${suite}.json`
  writeFileSync(path, `${JSON.stringify({ suite, ...recordedOn(), rows }, null, 2)}\n`)
  return path
}
