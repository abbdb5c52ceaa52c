/**
 * etcd beside `etcd3` and `etcdctl lock`, and ZooKeeper beside Curator, each pair on the same
 * server and in turns.
 */
import { startEtcd } from '@holdfast/servers/etcd'
import { startZooKeeper } from '@holdfast/servers/zookeeper'
import { ms, rate, type Row } from '../report.js'
import { runRounds, type BenchSubject, type Figures } from '../rounds.js'
import { median } from '../stats.js'

type Progress = (text: string) => void
type Subject = (address: string) => Omit<BenchSubject, 'name'>

interface Workload {
  readonly name: string
  readonly own: Subject
  readonly peer: Subject | undefined
  readonly peerName: string
  /** How many times the peer's rate has to be reached. */
  readonly times: number
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

const own = (store: string, loops: number): Subject => {
  return (address) => ({ module: 'service-alone', args: [store, address, String(loops)] })
}
const hot = (store: string, fairness: 'fifo' | 'cohort', processes: number): Subject => {
  return (address) => ({
    module: 'service-hot',
    args: [store, address, fairness, String(processes)],
  })
}
const etcd3 = (loops: number): Subject => {
  return (address) => ({ module: 'service-alone', args: ['etcd3', address, String(loops)] })
}
const etcdctl = (loops: number): Subject => {
  return (address) => ({ module: 'etcdctl', args: [address, String(loops)] })
}
const curator = (threads: number, locks: 'own' | 'one', processes = 1): Subject => {
  return (address) => ({
    module: 'curator',
    args: [address, String(threads), locks, String(processes)],
  })
}

export async function etcdSuite(rounds: number, progress: Progress): Promise<Row[]> {
  const free = { peerName: 'etcd3', times: 1.5 }
  // etcd3's Lock does not wait, so only the command stands beside our waiters.
  const crowd = { peer: etcdctl(16), peerName: 'etcdctl lock' }
  return withServer(startEtcd, ({ endpoints }) =>
    measure('etcd', endpoints.join(), rounds, progress, [
      { name: 'free lock, one at a time', own: own('etcd', 1), peer: etcd3(1), ...free },
      { name: 'free locks, 64 in flight', own: own('etcd', 64), peer: etcd3(64), ...free },
      {
        name: 'one hot lock, 16 waiters, fifo',
        own: hot('etcd', 'fifo', 1),
        ...crowd,
        times: 1,
        strict: true,
      },
      {
        name: 'one hot lock, 4 processes x 16, fifo',
        own: hot('etcd', 'fifo', 4),
        ...crowd,
        times: 1,
        strict: true,
      },
      {
        name: 'one hot lock, 4 processes x 16, cohort',
        own: hot('etcd', 'cohort', 4),
        ...crowd,
        times: 5,
      },
    ]),
  )
}

export async function zookeeperSuite(rounds: number, progress: Progress): Promise<Row[]> {
  const peerName = 'Curator'
  const store = 'zookeeper'
  return withServer(startZooKeeper, ({ connect }) =>
    measure(store, connect, rounds, progress, [
      {
        name: 'free lock, one at a time',
        own: own(store, 1),
        peer: curator(1, 'own'),
        peerName,
        times: 1.2,
      },
      {
        name: 'free locks, 64 in flight',
        own: own(store, 64),
        peer: curator(64, 'own'),
        peerName,
        times: 1,
      },
      {
        name: 'one hot lock, 16 waiters, fifo',
        own: hot(store, 'fifo', 1),
        peer: curator(16, 'one'),
        peerName,
        times: 1,
        strict: true,
      },
      {
        name: 'one hot lock, 4 processes x 16, fifo',
        own: hot(store, 'fifo', 4),
        peer: curator(16, 'one', 4),
        peerName: 'four Curators',
        times: 1,
        strict: true,
      },
      {
        name: 'one hot lock, 4 processes x 16, cohort',
        own: hot(store, 'cohort', 4),
        // One JVM of sixteen threads is faster than four.
        peer: curator(16, 'one'),
        peerName,
        times: 5,
      },
    ]),
  )
}

async function withServer<S extends { stop(): Promise<void> }, T>(
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

async function measure(
  suite: string,
  address: string,
  rounds: number,
  progress: Progress,
  workloads: readonly Workload[],
): Promise<Row[]> {
  const rows: Row[] = []
  for (const workload of workloads) {
    const { name, own: ours, peer } = workload
    const subjects = [
      { name: 'holdfast', ...ours(address) },
      ...(peer ? [{ name: 'peer', ...peer(address) }] : []),
    ]
    const results = await runRounds(subjects, rounds, (text) =>
      progress(`${suite}, ${name}, ${text}`),
    )
    rows.push(rowOf(suite, workload, results.get('holdfast') ?? [], results.get('peer') ?? []))
  }
  return rows
}

function rowOf(
  suite: string,
  workload: Workload,
  ours: readonly Figures[],
  peers: readonly Figures[],
): Row {
  const { name, peerName, times, strict = false } = workload
  const of = (figure: string): number[] => ours.flatMap((round) => round[figure] ?? [])
  const rates = of('pairs')
  const peerRates = peers.map((round) => round['pairs'] ?? NaN)
  const ratio = median(rates.map((value, round) => value / (peerRates[round] ?? NaN)))
  const [handOffMs, spread] = [median(of('handOffP50Ms')), median(of('spread'))]
  const waits = of('p99Ms')
  const shown = [
    rate(median(rates)),
    ...(waits.length > 0 ? [`p99 ${ms(median(waits))}`] : []),
    ...(strict ? [`hand-off ${ms(handOffMs)}`, `least served ${percent(1 - spread)} of most`] : []),
  ]
  const inOrder = handOffMs < HAND_OFF_MS && spread <= SPREAD
  return {
    workload: `${suite}, ${name}`,
    measured: shown.join(', '),
    against: `${ratio.toFixed(2)}x of ${peerName}, ${rate(median(peerRates))}`,
    bar:
      `≥ ${times}x` + (strict ? `, hand-off < ${HAND_OFF_MS} ms, within ${percent(SPREAD)}` : ''),
    reached: ratio >= times && (!strict || inOrder),
    rounds: { holdfast: rates, peer: peerRates, ...(strict ? { spread: of('spread') } : {}) },
  }
}

function percent(part: number): string {
  return `${Math.round(part * 100)}%`
}
