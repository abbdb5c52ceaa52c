/** etcd beside `etcd3`'s Lock, and ZooKeeper beside Curator, each pair on the same server and in turns. */
import { startEtcd } from '@holdfast/servers/etcd'
import { startZooKeeper } from '@holdfast/servers/zookeeper'
import { ms, rate, type Row } from '../report.js'
import { runRounds, type BenchSubject, type Figures } from '../rounds.js'
import { median } from '../stats.js'

type Progress = (text: string) => void

interface Workload {
  readonly name: string
  readonly own: (address: string) => Omit<BenchSubject, 'name'>
  readonly peer: ((address: string) => Omit<BenchSubject, 'name'>) | undefined
  /** How many times the peer's rate has to be reached. */
  readonly times: number
}

const etcd3 = (loops: number) => (address: string) => {
  return { module: 'service-alone', args: ['etcd3', address, String(loops)] }
}
const curator = (threads: number, locks: 'own' | 'one') => (address: string) => {
  return { module: 'curator', args: [address, String(threads), locks] }
}

export async function etcdSuite(rounds: number, progress: Progress): Promise<Row[]> {
  return withServer(startEtcd, ({ endpoints }) =>
    measure('etcd', endpoints.join(), rounds, progress, [
      { name: 'free lock, one at a time', own: alone('etcd', 1), peer: etcd3(1), times: 1.5 },
      { name: 'free locks, 64 in flight', own: alone('etcd', 64), peer: etcd3(64), times: 1.5 },
      // etcd3's Lock does not wait, so nothing stands beside these.
      { name: 'one hot lock, 4 processes x 16, fifo', own: hot('etcd', 'fifo'), peer: undefined, times: 0 },
      {
        name: 'one hot lock, 4 processes x 16, cohort',
        own: hot('etcd', 'cohort'),
        peer: undefined,
        times: 0,
      },
    ]),
  )
}

export async function zookeeperSuite(rounds: number, progress: Progress): Promise<Row[]> {
  return withServer(startZooKeeper, ({ connect }) =>
    measure('zookeeper', connect, rounds, progress, [
      { name: 'free lock, one at a time', own: alone('zookeeper', 1), peer: curator(1, 'own'), times: 1.2 },
      { name: 'free locks, 64 in flight', own: alone('zookeeper', 64), peer: curator(64, 'own'), times: 1 },
      {
        name: 'one hot lock, 4 processes x 16, fifo',
        own: hot('zookeeper', 'fifo'),
        peer: curator(16, 'one'),
        times: 1,
      },
      {
        name: 'one hot lock, 4 processes x 16, cohort',
        own: hot('zookeeper', 'cohort'),
        peer: curator(16, 'one'),
        times: 5,
      },
    ]),
  )
}

function alone(store: string, loops: number): Workload['own'] {
  return (address) => ({ module: 'service-alone', args: [store, address, String(loops)] })
}

function hot(store: string, fairness: string): Workload['own'] {
  return (address) => ({ module: 'service-hot', args: [store, address, fairness] })
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
  for (const { name, own, peer, times } of workloads) {
    const subjects = [
      { name: 'holdfast', ...own(address) },
      ...(peer ? [{ name: 'peer', ...peer(address) }] : []),
    ]
    const results = await runRounds(subjects, rounds, (text) => progress(`${suite}, ${name}, ${text}`))
    rows.push(rowOf(`${suite}, ${name}`, results.get('holdfast') ?? [], results.get('peer'), times))
  }
  return rows
}

function rowOf(
  workload: string,
  own: readonly Figures[],
  peer: readonly Figures[] | undefined,
  times: number,
): Row {
  const ownRates = own.map((round) => round['pairs'] ?? NaN)
  const waits = own.flatMap((round) => round['p99Ms'] ?? [])
  const wait = waits.length > 0 ? `, p99 ${ms(median(waits))}` : ''
  const measured = `${rate(median(ownRates))}${wait}`
  if (!peer)
    return { workload, measured, against: '', bar: '', reached: true, rounds: { holdfast: ownRates } }
  const peerRates = peer.map((round) => round['pairs'] ?? NaN)
  const ratio = median(ownRates.map((value, round) => value / (peerRates[round] ?? NaN)))
  const peerName = workload.startsWith('etcd') ? 'etcd3' : 'Curator'
  return {
    workload,
    measured,
    against: `${ratio.toFixed(2)}x of ${peerName}, ${rate(median(peerRates))}`,
    bar: `≥ ${times}x`,
    reached: ratio >= times,
    rounds: { holdfast: ownRates, peer: peerRates },
  }
}
