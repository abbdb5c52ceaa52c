/** The clients of other languages, and the workloads in which they stand beside Holdfast. */
import type { LanguageName } from './languages.js'

export type StoreName = 'redis' | 'etcd' | 'zookeeper'
export type WorkloadName = 'one' | 'many' | 'hot' | 'fifo'

export interface Peer {
  /** As its program in `bench/peers/` knows it. */
  readonly name: string
  readonly language: LanguageName
  readonly store: StoreName
  /** Its waiters get the lock in their order, so it stands beside strict order too. */
  readonly ordered?: true
  /** What must be reached beside it. */
  readonly bars?: Readonly<Partial<Record<WorkloadName, number>>>
}

export const PEERS: readonly Peer[] = [
  { name: 'redsync', language: 'go', store: 'redis' },
  { name: 'redislock', language: 'go', store: 'redis' },
  { name: 'rueidislock', language: 'go', store: 'redis' },
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
}

const HOT = { processes: 4, loops: 16, kind: 'hot' } as const

export const WORKLOADS: Readonly<Record<WorkloadName, Workload>> = {
  one: { title: 'free lock, one at a time', processes: 1, loops: 1, kind: 'free' },
  many: { title: 'free locks, 64 in flight', processes: 1, loops: 64, kind: 'free' },
  hot: { title: 'one hot lock, 4 processes x 16 waiters', ...HOT },
  fifo: { title: 'one hot lock, 4 processes x 16 waiters, fifo', ...HOT },
}

/** Returns the workloads in which a peer stands beside Holdfast. */
export function workloadsOf({ ordered }: Peer): WorkloadName[] {
  return ordered ? ['one', 'many', 'hot', 'fifo'] : ['one', 'many', 'hot']
}

/** Returns how the row of a peer is named. */
export function rowName({ name, store }: Peer, workload: WorkloadName): string {
  return `${store}, ${WORKLOADS[workload].title}, beside ${name}`
}
