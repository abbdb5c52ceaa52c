/**
 * A database: Holdfast beside the same statements by hand, verrou, the database's own locks, and
 * the floor, which is a lease row with a token.
 */
import { besideFloor, FLOOR } from './floor.js'
import { inWords, medianRate, pair, ratesOf, valuesOf, type Paired } from './paired.js'
import { garbageRows, ms, rate, type Row } from './report.js'
import { runRounds, runSubject, type BenchSubject, type Figures } from './rounds.js'
import { median } from './stats.js'
import type { Progress } from './suite.js'

/** A server with the settings that it comes with: what is committed is on the disk. */
export interface Server {
  readonly address: string
  stop(): Promise<void>
}

const SUBJECT = 'cohort'
const VERROU = 'verrou'
/** Does not await its releases. */
const RUN = 'run'
const FLOOR_OF_RUN = 'floor-run'
/** What it must reach beside verrou. */
const LEAST_OF_RUN = 1.5
/** Rounds of peers without a bar. With more the suite would last a third longer. */
const FEW_ROUNDS = 2

interface Workload {
  readonly name: string
  readonly module: 'database-free' | 'database-hot'
  /** Loops, or connections of a pool. */
  readonly argument: string
  /**
   * What stands beside a client of Holdfast with its defaults, which grants in cohorts. `fifo` is
   * the same client in strict order.
   */
  readonly peers: readonly string[]
  readonly bars: readonly Bar[]
  /** Whether its floor is measured. */
  readonly floor: boolean
  /** Whether a row is made of releases that are not awaited. */
  readonly run: boolean
}

/** What must be reached beside a peer: the median of the ratios within a round. */
interface Bar {
  readonly peer: string
  readonly figure: 'pairs' | 'p99Ms'
  /** The least multiple of the peer's rate, or the largest of its wait. */
  readonly times: number
}

/** What a database has of its own, and where its peers stand. */
export interface DatabaseSuite {
  readonly name: string
  /** Locks of its own, which take a connection each. */
  readonly native: string
  /** Starts a server, with what counts statements switched on. */
  readonly startCounting: () => Promise<Server>
  readonly start: () => Promise<Server>
  readonly prepare: (url: string) => Promise<void>
}

function workloadsOf({ native }: DatabaseSuite): readonly Workload[] {
  const free = (loops: number): Workload => ({
    name:
      loops === 1
        ? 'free lock, one at a time'
        : `free locks, ${loops} in flight, ${loops} connections`,
    module: 'database-free',
    argument: String(loops),
    peers: ['statements', 'verrou', native],
    bars: [
      { peer: 'statements', figure: 'pairs', times: 0.9 },
      { peer: 'verrou', figure: 'pairs', times: loops === 1 ? 1 : 2 },
    ],
    // In flight Holdfast sends several requests in a statement, so that a row is no floor.
    floor: loops === 1,
    run: loops === 1,
  })
  const hot: Workload = {
    name: 'one hot lock, 4 processes x 16 waiters',
    module: 'database-hot',
    argument: '16',
    peers: ['fifo', 'naive', 'verrou', native],
    bars: [
      { peer: 'naive', figure: 'pairs', times: 3 },
      { peer: 'naive', figure: 'p99Ms', times: 1 / 5 },
    ],
    floor: false,
    run: false,
  }
  return [free(1), free(16), hot]
}

export async function measureDatabase(
  suite: DatabaseSuite,
  rounds: number,
  progress: Progress,
): Promise<Row[]> {
  const rows = await withServer(suite.start, suite.prepare, async (server) => {
    const rows: Row[] = []
    for (const workload of workloadsOf(suite)) {
      rows.push(...(await measure(suite, workload, server, rounds, progress)))
    }
    return rows
  })
  return [...rows, await measureWaiting(suite, progress)]
}

async function withServer<T>(
  start: () => Promise<Server>,
  prepare: (url: string) => Promise<void>,
  use: (server: Server) => Promise<T>,
): Promise<T> {
  const server = await start()
  try {
    await prepare(server.address)
    return await use(server)
  } finally {
    await server.stop()
  }
}

async function measure(
  suite: DatabaseSuite,
  workload: Workload,
  { address }: Server,
  rounds: number,
  progress: Progress,
): Promise<Row[]> {
  const { name, module, argument, peers, bars, floor, run } = workload
  const own = [SUBJECT, ...(run ? [RUN, FLOOR_OF_RUN] : []), ...(floor ? [FLOOR] : [])]
  const needed = new Set([...own, ...bars.map(({ peer }) => peer)])
  const subjects: BenchSubject[] = [...own, ...peers].map((one) => ({
    name: one,
    module,
    args: [one, address, argument],
    ...(needed.has(one) ? {} : { rounds: FEW_ROUNDS }),
  }))
  const title = `${suite.name}, ${name}`
  const results = await runRounds(subjects, rounds, (text) => progress(`${title}: ${text}`))
  const garbage = garbageRows(title, results.get(SUBJECT) ?? [])
  return [rowOf(title, workload, results), ...(run ? [runRow(title, results)] : []), ...garbage]
}

type Results = ReadonlyMap<string, readonly Figures[]>

function rowOf(workload: string, { peers, bars }: Workload, results: Results): Row {
  const figuresOf = (one: string): readonly Figures[] => results.get(one) ?? []
  const compared = bars.map((bar) => ({
    ...bar,
    paired: pair(
      valuesOf(figuresOf(SUBJECT), bar.figure),
      valuesOf(figuresOf(bar.peer), bar.figure),
    ),
  }))
  const against = peers.map(
    (peer) => `${peer} ${describe(figuresOf(peer), ratiosTo(peer, compared))}`,
  )
  return {
    workload,
    measured: describe(figuresOf(SUBJECT), ''),
    against: against.join('; '),
    ...besideFloor({
      ours: ratesOf(results.get(SUBJECT)),
      floor: ratesOf(results.get(FLOOR)),
      peer: ratesOf(results.get(VERROU)),
      peerName: VERROU,
      least: bars.find(({ peer }) => peer === VERROU)?.times,
    }),
    bar: bars.map(barInWords).join(', '),
    reached: compared.every(({ figure, paired: { ratio }, times }) =>
      figure === 'pairs' ? ratio >= times : ratio <= times,
    ),
    rounds: Object.fromEntries([...results].map(([one, figures]) => [one, ratesOf(figures)])),
  }
}

function runRow(workload: string, results: Results): Row {
  const [ours, verrou] = [ratesOf(results.get(RUN)), ratesOf(results.get(VERROU))]
  const floor = ratesOf(results.get(FLOOR_OF_RUN))
  const paired = pair(ours, verrou)
  return {
    workload: `${workload}, release not awaited`,
    measured: medianRate(ours),
    against: `${VERROU} ${medianRate(verrou)} (${inWords(paired)})`,
    ...besideFloor({ ours, floor, peer: verrou, peerName: VERROU, least: LEAST_OF_RUN }),
    bar: `≥ ${LEAST_OF_RUN}x ${VERROU}`,
    reached: paired.ratio >= LEAST_OF_RUN,
    rounds: { [RUN]: ours, [FLOOR_OF_RUN]: floor, [VERROU]: verrou },
  }
}

/** How Holdfast stands to a peer, where there is a bar. */
function ratiosTo(peer: string, bars: readonly (Bar & { readonly paired: Paired })[]): string {
  const words = bars
    .filter((bar) => bar.peer === peer)
    .map(({ figure, paired }) =>
      figure === 'pairs' ? inWords(paired) : `p99 1/${(1 / paired.ratio).toFixed(1)}`,
    )
  return words.length === 0 ? '' : ` (${words.join(', ')})`
}

function barInWords({ peer, figure, times }: Bar): string {
  return figure === 'pairs' ? `≥ ${times}x ${peer}` : `p99 ≤ 1/${Math.round(1 / times)} of ${peer}`
}

function describe(rounds: readonly Figures[], ratios: string): string {
  const of = (figure: string): number => median(valuesOf(rounds, figure))
  const waits = Number.isNaN(of('p99Ms')) ? '' : `, p50 ${ms(of('p50Ms'))}, p99 ${ms(of('p99Ms'))}`
  return `${rate(of('pairs'))}${waits}${ratios}`
}

async function measureWaiting(suite: DatabaseSuite, progress: Progress): Promise<Row> {
  const workload = `${suite.name}, 1 000 waiters on 100 locks in 4 processes`
  const { startCounting, prepare } = suite
  const figures = await withServer(startCounting, prepare, async ({ address }) => {
    const subject = { name: 'waiting', module: 'database-waiting', args: [address] }
    progress(workload)
    return runSubject(subject)
  })
  const { perSecond = NaN, beyond = NaN } = figures
  return {
    workload,
    measured: `${perSecond.toFixed(1)} statements/s, ${beyond} connections a process beyond its pool`,
    against: '',
    bar: '< 50 statements/s, ≤ 2 connections',
    reached: perSecond < 50 && beyond <= 2,
    rounds: { statements: [perSecond], connections: [beyond] },
  }
}
