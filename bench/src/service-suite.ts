/** A store beside a peer on the same server and in turns: free locks, and a hot one. */
import { besideFloor, FLOOR } from './floor.js'
import { inWords, medianRate, pair, ratesOf } from './paired.js'
import { ms, type Row } from './report.js'
import { runRounds, type BenchSubject, type Figures } from './rounds.js'
import { median } from './stats.js'

type Progress = (text: string) => void
export type Subject = (address: string) => Omit<BenchSubject, 'name'>

export interface Workload {
  readonly name: string
  readonly own: Subject
  readonly peer: Subject | undefined
  readonly peerName: string
  /** In how many rounds the peer takes part. Left out: in all. */
  readonly peerRounds?: number
  /** How many times the peer's rate has to be reached. */
  readonly times: number
  /** The least that a pair with a token asks of the server. */
  readonly floor?: Subject
  /** Whether waiters must be served in their order: quickly, and all alike. */
  readonly strict?: boolean
}

/** A hand-off in strict order takes less than this at the median, in milliseconds. */
const HAND_OFF_MS = 3
/**
 * The least served waiter in strict order gets no more than this part less than the most served
 * one.
 */
const SPREAD = 0.1

/** One process of that many loops, each on a lock of its own. */
export const own = (store: string, loops: number): Subject => {
  return (address) => ({ module: 'service-alone', args: [store, address, String(loops)] })
}
/** The floor of that many loops. */
export const floorOf = (store: string, loops: number): Subject => own(`${store}-floor`, loops)
/** Processes of sixteen loops each, all on one lock. */
export const hot = (store: string, fairness: 'fifo' | 'cohort', processes: number): Subject => {
  return (address) => ({
    module: 'service-hot',
    args: [store, address, fairness, String(processes)],
  })
}

export async function withServer<S extends { stop(): Promise<void> }, T>(
  start: () => Promise<S>,
  use: (server: S) => Promise<T>,
): Promise<T> {
  const server = await start()
  try {
    return await use(server)
  } finally {
    await server.stop()
  }
}

export async function measureBeside(
  suite: string,
  address: string,
  rounds: number,
  progress: Progress,
  workloads: readonly Workload[],
): Promise<Row[]> {
  const rows: Row[] = []
  for (const workload of workloads) {
    const { name, own: ours, peer, peerRounds, floor } = workload
    const subjects = [
      { name: 'holdfast', ...ours(address) },
      ...(floor ? [{ name: FLOOR, ...floor(address) }] : []),
      ...(peer
        ? [{ name: 'peer', ...peer(address), ...(peerRounds ? { rounds: peerRounds } : {}) }]
        : []),
    ]
    const results = await runRounds(subjects, rounds, (text) =>
      progress(`${suite}, ${name}, ${text}`),
    )
    rows.push(rowOf(suite, workload, results))
  }
  return rows
}

function rowOf(
  suite: string,
  workload: Workload,
  results: ReadonlyMap<string, readonly Figures[]>,
): Row {
  const { name, peerName, times, strict = false } = workload
  const ours = results.get('holdfast') ?? []
  const of = (figure: string): number[] => ours.flatMap((round) => round[figure] ?? [])
  const rates = ratesOf(ours)
  const [peer, floor] = [ratesOf(results.get('peer')), ratesOf(results.get(FLOOR))]
  const paired = pair(rates, peer)
  const [handOffMs, spread] = [median(of('handOffP50Ms')), median(of('spread'))]
  const waits = of('p99Ms')
  const shown = [
    medianRate(rates),
    ...(waits.length > 0 ? [`p99 ${ms(median(waits))}`] : []),
    ...(strict ? [`hand-off ${ms(handOffMs)}`, `least served ${percent(1 - spread)} of most`] : []),
  ]
  const inOrder = handOffMs < HAND_OFF_MS && spread <= SPREAD
  return {
    workload: `${suite}, ${name}`,
    measured: shown.join(', '),
    against: `${inWords(paired)} of ${peerName}, ${medianRate(peer)}`,
    ...besideFloor({ ours: rates, floor, peer, peerName, least: times }),
    bar:
      `≥ ${times}x` + (strict ? `, hand-off < ${HAND_OFF_MS} ms, within ${percent(SPREAD)}` : ''),
    reached: paired.ratio >= times && (!strict || inOrder),
    rounds: {
      holdfast: rates,
      ...(floor.length > 0 ? { [FLOOR]: floor } : {}),
      peer,
      ...(strict ? { spread: of('spread') } : {}),
    },
  }
}

function percent(part: number): string {
  return `${Math.round(part * 100)}%`
}
