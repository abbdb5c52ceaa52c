/** What the suite of Redis runs, and what must be reached. */
import { SLOW_WARM_UP_MS } from './free.js'
import type { Figures } from './rounds.js'
import type { Paired } from './paired.js'

const PEERS = ['redlock', 'redis-semaphore', 'verrou', 'redlock-universal'] as const
/** Waiters of each process on a hot lock. */
const WAITERS = '16'
/** The work under the lock without the lock. */
export const WORK = 'work'
const HOT_PEERS = PEERS.flatMap((name) => [name, `${name}-defaults`, `${name}-queued`])
/** Rounds of the slower peers. With more the suite would last twice as long. */
const FEW_ROUNDS = 2

export interface Workload {
  readonly module: 'redis-free' | 'redis-hot' | 'redis-give-ups'
  /** What the module takes behind the subject and the port. */
  readonly args: readonly string[]
  /** What of Holdfast runs in it. Each entry makes a row. */
  readonly ours: readonly Ours[]
  readonly peers: readonly Peer[]
  /** Further subjects, of which a row is no peer. */
  readonly beside?: readonly string[]
  /** How long a request and its reply travel to the server and back, through a proxy. */
  readonly roundTripMs?: number
}

export interface Ours {
  readonly subject: 'cohort' | 'fifo' | 'run'
  /** The name of the row. */
  readonly name: string
  readonly bars: readonly Bar[]
  /** The subject of its floor. */
  readonly floor?: string
  /** The subject that sends the same calls by hand. */
  readonly ownCalls?: string
  /** What a pair may take, beside verrou. */
  readonly work?: WorkLimits
  /** Bytes of garbage that a pair may leave. */
  readonly mostBytes?: number
}

/** Processor time for a pair, as ratios to verrou. */
export interface WorkLimits {
  readonly client: number
  readonly server: number
}

export interface Peer {
  readonly name: string
  /** In how many rounds it takes part. Left out: in all. */
  readonly rounds?: number
}

/** What must be reached, against the fastest peer in the same round. */
export interface Bar {
  readonly what: string
  reached(round: Round): boolean
  /** The ratio of the rates that it asks for. */
  readonly leastRate?: number
}

/** Medians over the rounds. */
export interface Round {
  /** Our rate over that of the fastest peer. */
  readonly rate: Paired
  /**
   * Our p99 wait over that of the fastest peer. Not of the one with the shortest: where a process
   * keeps the others out for the whole run, hardly any wait is long.
   */
  readonly wait: Paired
  readonly ours: Figures
  /** Our rate over that of a subject beside it. */
  readonly over: (subject: string) => number
}

const atLeast = (ratio: number): Bar => ({
  what: `≥ ${ratio}x`,
  reached: ({ rate }) => rate.ratio >= ratio,
  leastRate: ratio,
})
const waitAtMost = (divisor: number): Bar => ({
  what: `p99 ≤ 1/${divisor}`,
  reached: ({ wait }) => wait.ratio <= 1 / divisor,
})

/** The named peers take part in all rounds, since they are the fastest. */
function peersOf(names: readonly string[], fastest: readonly string[]): Peer[] {
  return names.map((name) => ({
    name,
    ...(fastest.includes(name) ? {} : { rounds: FEW_ROUNDS }),
  }))
}

const free = (loops: number, ratio: number, more: Partial<Ours> = {}): Workload => ({
  module: 'redis-free',
  args: [String(loops)],
  ours: [
    {
      subject: 'cohort',
      name: nameOf(loops),
      bars: [atLeast(ratio)],
      floor: 'floor',
      ownCalls: 'own-calls',
      ...more,
    },
  ],
  peers: peersOf(PEERS, ['verrou', loops === 1 ? 'redlock-universal' : 'redis-semaphore']),
})

function nameOf(loops: number): string {
  return loops === 1 ? 'free lock, one at a time' : `free locks, ${loops} in flight`
}

/** In its row no release is awaited. */
const run = (ratio: number): Ours => ({
  subject: 'run',
  name: 'free lock, one at a time, release not awaited',
  bars: [atLeast(ratio)],
  floor: 'floor-run',
  ownCalls: 'own-runs',
})

/** A run time of its own counts no garbage: the way to the server does not change it. */
const RUN_MS = '1500'
const WARM_UP_MS = String(SLOW_WARM_UP_MS)
/** With a thousand pairs a second, `run` becomes faster up to the eighth second. */
const WARM_UP_OF_ONE_MS = String(2 * SLOW_WARM_UP_MS)

/** All peers make as many trips, so that two of them are enough. */
const far = (roundTripMs: number, loops: number, ours: Ours): Workload => ({
  module: 'redis-free',
  args: [String(loops), RUN_MS, loops === 1 ? WARM_UP_OF_ONE_MS : WARM_UP_MS],
  ours: [{ ...ours, name: `${ours.name}, ${roundTripMs} ms to the server and back` }],
  peers: peersOf(['verrou', 'redlock-universal'], ['verrou', 'redlock-universal']),
  roundTripMs,
})

/** Without peers beside it: compared with another checkout, and not recorded. */
const alone = (
  name: string,
  module: Workload['module'],
  subject: Ours['subject'],
  ...args: readonly string[]
): Workload => ({ module, args, ours: [{ name, subject, bars: [] }], peers: [] })

const hot = (workMs: string, ours: readonly Ours[]): Workload => ({
  module: 'redis-hot',
  args: [workMs, WAITERS],
  ours: ours.map((one) => ({
    ...one,
    name: `one hot lock, 4 processes x 16 waiters, ${one.name}`,
  })),
  peers: peersOf(HOT_PEERS, ['verrou-defaults', 'verrou-queued']),
  // Where something is done under the lock, the work alone stands beside the locks.
  ...(workMs === '0' ? {} : { beside: [WORK] }),
})

const one = free(1, 0.95, { work: { client: 0.85, server: 1.35 }, mostBytes: 5000 })
const most = free(4096, 2)

/** Holdfast with 64 in flight, in the rounds of another workload. */
export const COHORT_AT_64 = 'cohort at 64'

export const WORKLOADS: readonly Workload[] = [
  { ...one, ours: [...one.ours, run(1.2)], beside: ['floor-socket'] },
  {
    ...free(64, 1.6, { work: { client: 0.5, server: 1.5 }, mostBytes: 5000 }),
    beside: ['floor-socket'],
  },
  free(512, 1.8),
  {
    ...most,
    ours: most.ours.map((ours) => ({
      ...ours,
      bars: [
        ...ours.bars,
        { what: 'not below 64', reached: ({ over }: Round) => over(COHORT_AT_64) >= 1 },
      ],
    })),
    beside: [COHORT_AT_64],
  },
  far(0.5, 1, run(1.8)),
  far(2.4, 1, run(1.8)),
  far(2.4, 64, { subject: 'cohort', name: nameOf(64), bars: [], floor: 'floor' }),
  hot('0', [
    { subject: 'cohort', name: 'cohort', bars: [atLeast(15), waitAtMost(30)] },
    {
      subject: 'fifo',
      name: 'fifo',
      bars: [
        atLeast(0.9),
        waitAtMost(8),
        { what: 'spread ≤ 10%', reached: ({ ours }) => (ours['spread'] ?? 1) <= 0.1 },
      ],
    },
  ]),
  hot('1', [
    {
      subject: 'cohort',
      name: '1 ms of work',
      bars: [
        { what: '≥ 900 /s', reached: ({ ours }) => (ours['pairs'] ?? 0) >= 900 },
        waitAtMost(3),
      ],
    },
  ]),
]

export const COMPARED_ALONE: readonly Workload[] = [
  alone('one hot lock, 4 processes x 1 waiter', 'redis-hot', 'cohort', '0', '1'),
  alone('waiters that give up, 64 at a time', 'redis-give-ups', 'fifo', '64'),
]
