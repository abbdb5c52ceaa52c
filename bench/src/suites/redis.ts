/**
 * One Redis server: Holdfast beside redlock, redis-semaphore and verrou, on the same server in the
 * same run.
 */
import type { Comparable } from '../comparison.js'
import { garbageRows, ms, rate, type Row } from '../report.js'
import { runRounds, type BenchSubject, type Figures } from '../rounds.js'
import { startRedis } from '@holdfast/servers/redis'
import { median } from '../stats.js'
import type { BenchSuite } from '../suite.js'

const PEERS = ['redlock', 'redis-semaphore', 'verrou', 'redlock-universal'] as const
/** Waiters of each process on a hot lock. */
const WAITERS = '16'
/** The work under the lock without the lock. */
const WORK = 'work'
const HOT_PEERS = PEERS.flatMap((name) => [name, `${name}-defaults`, `${name}-queued`])
/** Rounds of the variants of the peers. With more the suite would last twice as long. */
const VARIANT_ROUNDS = 2

interface Workload {
  readonly name: string
  readonly module: 'redis-free' | 'redis-hot' | 'redis-give-ups'
  /** What the module takes behind the subject and the port. */
  readonly args: readonly string[]
  readonly subject: 'cohort' | 'fifo'
  readonly peers: readonly string[]
  readonly bars: readonly Bar[]
}

/** What must be reached, against the fastest peer in the same round. */
interface Bar {
  readonly what: string
  reached(round: Round): boolean
}

/** Medians over the rounds. */
interface Round {
  /** Our rate over that of the fastest peer. */
  readonly rateRatio: number
  /**
   * Our p99 wait over that of the fastest peer. Not of the one with the shortest: where a process
   * keeps the others out for the whole run, hardly any wait is long.
   */
  readonly waitRatio: number
  readonly ours: Figures
  /** How many a second the work alone allows. */
  readonly allowed: number
}

const atLeast = (ratio: number): Bar => ({
  what: `≥ ${ratio}x`,
  reached: ({ rateRatio }) => rateRatio >= ratio,
})
const waitAtMost = (divisor: number): Bar => ({
  what: `p99 ≤ 1/${divisor}`,
  reached: ({ waitRatio }) => waitRatio <= 1 / divisor,
})

const free = (loops: string, ratio: number): Workload => ({
  name: loops === '1' ? 'free lock, one at a time' : `free locks, ${loops} in flight`,
  module: 'redis-free',
  args: [loops],
  subject: 'cohort',
  peers: PEERS,
  bars: [atLeast(ratio)],
})

/** Without peers beside it. */
const alone = (
  name: string,
  module: Workload['module'],
  subject: Workload['subject'],
  ...args: readonly string[]
): Workload => ({ name, module, args, subject, peers: [], bars: [] })

const hot = (
  name: string,
  subject: 'cohort' | 'fifo',
  workMs: string,
  bars: readonly Bar[],
): Workload => ({
  name: `one hot lock, 4 processes x 16 waiters, ${name}`,
  module: 'redis-hot',
  args: [workMs, WAITERS],
  subject,
  peers: HOT_PEERS,
  bars,
})

const WORKLOADS: readonly Workload[] = [
  free('64', 1.5),
  free('512', 1.8),
  free('1', 0.95),
  hot('cohort', 'cohort', '0', [atLeast(15), waitAtMost(30)]),
  hot('1 ms of work', 'cohort', '1', [
    { what: '≥ 900 /s', reached: ({ ours }) => (ours['pairs'] ?? 0) >= 900 },
    waitAtMost(3),
  ]),
  hot('fifo', 'fifo', '0', [
    atLeast(0.9),
    waitAtMost(8),
    { what: 'spread ≤ 10%', reached: ({ ours }) => (ours['spread'] ?? 1) <= 0.1 },
  ]),
  alone('free locks, 4096 in flight', 'redis-free', 'cohort', '4096'),
  alone('one hot lock, 4 processes x 1 waiter', 'redis-hot', 'cohort', '0', '1'),
  alone('waiters that give up, 64 at a time', 'redis-give-ups', 'fifo', '64'),
]

const comparable: Comparable = {
  async start() {
    const server = await startRedis()
    const subjects = WORKLOADS.map(({ name, module, subject, args }) => ({
      name,
      module,
      args: [subject, String(server.port), ...args],
    }))
    return { subjects, stop: () => server.stop() }
  },
}

export const suite: BenchSuite = { measure: measureSuite, comparable }

async function measureSuite(rounds: number, progress: (text: string) => void): Promise<Row[]> {
  const server = await startRedis()
  try {
    const rows: Row[] = []
    for (const workload of WORKLOADS)
      rows.push(...(await measure(workload, server.port, rounds, progress)))
    rows.push(...(await measureCommands(server.port, progress)))
    rows.push(await measureHeld(server.port, progress))
    return rows
  } finally {
    await server.stop()
  }
}

async function measure(
  workload: Workload,
  port: number,
  rounds: number,
  progress: (text: string) => void,
): Promise<Row[]> {
  const { name, module, args, subject, peers, bars } = workload
  // Where something is done under the lock, the work alone stands beside the locks.
  const works = module === 'redis-hot' && args[0] !== '0'
  const subjects: BenchSubject[] = [subject, ...peers, ...(works ? [WORK] : [])].map((one) => ({
    name: one,
    module,
    args: [one, String(port), ...args],
    ...(/-(defaults|queued)$/.test(one) ? { rounds: VARIANT_ROUNDS } : {}),
  }))
  const results = await runRounds(subjects, rounds, (text) => progress(`redis, ${name}: ${text}`))
  const figuresOf = (one: string): readonly Figures[] => results.get(one) ?? []
  const round: Round = {
    rateRatio: ratioToBest(figuresOf(subject), peers.map(figuresOf), 'pairs', Math.max),
    waitRatio: ratioToBest(
      figuresOf(subject),
      [fastestOf(peers.map(figuresOf))],
      'p99Ms',
      Math.min,
    ),
    ours: mediansOf(figuresOf(subject)),
    allowed: mediansOf(figuresOf(WORK))['pairs'] ?? NaN,
  }
  const row: Row = {
    workload: `redis, ${name}`,
    measured: describe(round.ours) + (works ? `, ${percentOf(round)} of what the work allows` : ''),
    against: peers.map((peer) => `${peer} ${describe(mediansOf(figuresOf(peer)))}`).join('; '),
    bar: bars.map(({ what }) => what).join(', '),
    reached: bars.every((bar) => bar.reached(round)),
    rounds: Object.fromEntries(
      [subject, ...peers].map((one) => [one, valuesOf(figuresOf(one), 'pairs')]),
    ),
  }
  return [row, ...garbageRows(`redis, ${name}`, figuresOf(subject))]
}

/**
 * The median, over the rounds, of our figure by the best one of a peer in the same round. A peer
 * that took part in fewer rounds counts in the others with its median.
 */
function ratioToBest(
  ours: readonly Figures[],
  theirs: readonly (readonly Figures[])[],
  figure: string,
  best: (...values: number[]) => number,
): number {
  const usual = theirs.map((rounds) => median(valuesOf(rounds, figure)))
  return median(
    ours.map((figures, index) => {
      const peers = theirs.map((rounds, peer) => rounds[index]?.[figure] ?? usual[peer] ?? NaN)
      return (figures[figure] ?? NaN) / best(...peers)
    }),
  )
}

function fastestOf(peers: readonly (readonly Figures[])[]): readonly Figures[] {
  return peers.reduce((best, peer) => (rateOf(peer) > rateOf(best) ? peer : best), [])
}

function rateOf(rounds: readonly Figures[]): number {
  return mediansOf(rounds)['pairs'] ?? 0
}

function percentOf({ ours, allowed }: Round): string {
  return `${Math.round(((ours['pairs'] ?? NaN) / allowed) * 100)}%`
}

function valuesOf(figures: readonly Figures[], figure: string): number[] {
  return figures.map((round) => round[figure] ?? NaN)
}

function mediansOf(figures: readonly Figures[]): Figures {
  const names = Object.keys(figures[0] ?? {})
  return Object.fromEntries(names.map((name) => [name, median(valuesOf(figures, name))]))
}

function describe({ pairs = NaN, p50Ms, p99Ms, maxMs, spread }: Figures): string {
  if (p50Ms === undefined || p99Ms === undefined || maxMs === undefined) return rate(pairs)
  const waits = `p50 ${ms(p50Ms)}, p99 ${ms(p99Ms)}, max ${ms(maxMs)}`
  return `${rate(pairs)}, ${waits}${spread === undefined ? '' : `, spread ${Math.round(spread * 100)}%`}`
}

/** The server counts, so that one run is enough. */
async function measureCommands(port: number, progress: (text: string) => void): Promise<Row[]> {
  const subject = { name: 'commands', module: 'redis-commands', args: [String(port)] }
  const results = await runRounds([subject], 1, (text) =>
    progress(`redis, commands per pair: ${text}`),
  )
  const [figures = {}] = results.get('commands') ?? []
  const row = (name: string, kind: 'free' | 'hot', mostPublished: number): Row => {
    const [scripts = NaN, published = NaN] = [
      figures[`${kind}Scripts`],
      figures[`${kind}Published`],
    ]
    return {
      workload: `redis, commands per pair, ${name}`,
      measured: `${scripts.toFixed(2)} script calls, ${published.toFixed(2)} PUBLISH`,
      against: '',
      bar: `≤ 2 script calls, ${mostPublished === 0 ? 'no' : `≤ ${mostPublished}`} PUBLISH`,
      // In whole hundredths: a heartbeat now and then is no part of a pair.
      reached: Number(scripts.toFixed(2)) <= 2 && Number(published.toFixed(2)) <= mostPublished,
      rounds: { scripts: [scripts], published: [published] },
    }
  }
  return [
    row('a free lock', 'free', 0),
    row('one hot lock, 4 processes x 16 waiters, fifo', 'hot', 1),
  ]
}

async function measureHeld(port: number, progress: (text: string) => void): Promise<Row> {
  const subject = { name: 'held', module: 'redis-held', args: [String(port)] }
  const results = await runRounds([subject], 1, (text) =>
    progress(`redis, 10 000 held leases: ${text}`),
  )
  const [figures = {}] = results.get('held') ?? []
  const { share = NaN, lost = NaN } = figures
  return {
    workload: 'redis, 10 000 held leases, kept alive',
    measured: `${(share * 100).toFixed(1)}% of a core, ${lost} lost`,
    against: '',
    bar: '≤ 1%, none lost',
    reached: share <= 0.01 && lost === 0,
    rounds: { share: [share] },
  }
}
