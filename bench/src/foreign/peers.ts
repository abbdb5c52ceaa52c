/** The clients of other languages, and the workloads in which they stand beside Holdfast. */
import type { LanguageName } from './languages.js'

export type StoreName = 'redis' | 'etcd' | 'zookeeper'
export type WorkloadName = 'one' | 'many' | 'far' | 'hot' | 'fifo'

export interface Peer {
  /** As its program in `bench/peers/` knows it. */
  readonly name: string
  readonly language: LanguageName
  readonly store: StoreName
  /** Its waiters get the lock in their order, so it stands beside strict order too. */
  readonly ordered?: true
  /** It also runs with a way of some milliseconds to the server. */
  readonly far?: true
  /** What must be reached beside it. */
  readonly bars?: Readonly<Partial<Record<WorkloadName, number>>>
}

export const PEERS: readonly Peer[] = [
  { name: 'redsync', language: 'go', store: 'redis', far: true },
  { name: 'redislock', language: 'go', store: 'redis' },
  { name: 'rueidislock', language: 'go', store: 'redis', far: true, bars: { far: 1.1 } },
  { name: 'redis-py', language: 'python', store: 'redis' },
  { name: 'Redisson', language: 'java', store: 'redis' },
  { name: 'concurrency', language: 'go', store: 'etcd', ordered: true, bars: { one: 1 } },
  { name: 'jetcd', language: 'java', store: 'etcd', ordered: true },
  { name: 'Curator', language: 'java', store: 'zookeeper', ordered: true, bars: { one: 1.05 } },
  { name: 'kazoo', language: 'python', store: 'zookeeper', ordered: true },
]

export interface Workload {
  readonly title: string
  readonly processes: number
  /** Callers of each process. */
  readonly loops: number
  readonly kind: 'free' | 'hot'
  /** How long a request and its reply travel to the server and back, through a proxy. */
  readonly roundTripMs?: number
}

const HOT = { processes: 4, loops: 16, kind: 'hot' } as const
const MANY = { processes: 1, loops: 64, kind: 'free' } as const

export const WORKLOADS: Readonly<Record<WorkloadName, Workload>> = {
  one: { title: 'free lock, one at a time', processes: 1, loops: 1, kind: 'free' },
  many: { title: 'free locks, 64 in flight', ...MANY },
  far: {
    title: 'free locks, 64 in flight, 2.4 ms to the server and back',
    ...MANY,
    roundTripMs: 2.4,
  },
  hot: { title: 'one hot lock, 4 processes x 16 waiters', ...HOT },
  fifo: { title: 'one hot lock, 4 processes x 16 waiters, fifo', ...HOT },
}

/** Returns the workloads in which a peer stands beside Holdfast. */
export function workloadsOf({ ordered, far }: Peer): WorkloadName[] {
  return [
    'one',
    'many',
    ...(far ? (['far'] as const) : []),
    'hot',
    ...(ordered ? (['fifo'] as const) : []),
  ]
}

/** Rounds of a peer in a workload without a bar. With more the run would last twice as long. */
const FEW_ROUNDS = 3

/** Returns in how many rounds a peer takes part. */
export function roundsOf({ bars }: Peer, workload: WorkloadName, rounds: number): number {
  return bars?.[workload] === undefined ? FEW_ROUNDS : rounds
}

/** Returns how the row of a peer is named. */
export function rowName({ name, store }: Peer, workload: WorkloadName): string {
  return `${store}, ${WORKLOADS[workload].title}, beside ${name}`
}
