/**
 * `npm run bench -- --quick`: the main ratios beside the peers, in two minutes. Its runs are short,
 * so that it records nothing: it shows where a change needs a whole suite.
 */
import { startRedis } from '@holdfast/servers/redis'
import { inWords, medianRate, pair, ratesOf } from './paired.js'
import { runSubject, type BenchSubject, type Figures } from './rounds.js'
import type { Progress } from './suite.js'
import { showTable } from './table.js'

const MOST_MS = 120_000
const MOST_ROUNDS = 7
const RUN_MS = '400'
const HOT_RUN_MS = '1000'

interface QuickWorkload {
  readonly name: string
  readonly meaning: string
  readonly module: string
  readonly ours: string
  readonly peers: readonly string[]
  /** What the module takes behind the name of the subject. */
  readonly args: readonly string[]
}

function onRedis(port: string): readonly QuickWorkload[] {
  const free = {
    module: 'redis-free',
    ours: 'cohort',
    peers: ['redlock', 'redis-semaphore', 'verrou', 'redlock-universal'],
  }
  return [
    {
      name: 'Redis, one at a time',
      meaning: 'one caller takes a free lock and awaits the release, again and again',
      ...free,
      args: [port, '1', RUN_MS],
    },
    {
      name: 'Redis, 64 in flight',
      meaning: '64 callers of one process do so at a time, each with a lock of its own',
      ...free,
      args: [port, '64', RUN_MS],
    },
    {
      name: 'Redis, hot',
      meaning: '4 processes with 16 callers each want one lock; those of a peer queue locally',
      module: 'redis-hot',
      ours: 'cohort',
      peers: ['redlock-queued', 'verrou-queued'],
      args: [port, '0', '16', HOT_RUN_MS],
    },
  ]
}

const WITHOUT_SERVER: readonly QuickWorkload[] = [
  {
    name: 'memory, free',
    meaning: 'one caller takes a lock inside of the process',
    module: 'memory',
    ours: 'holdfast',
    peers: ['async-mutex'],
    args: ['1'],
  },
  {
    name: 'memory, 10 000 waiters',
    meaning: '10 000 callers of one process want one lock',
    module: 'memory',
    ours: 'holdfast',
    peers: ['async-mutex'],
    args: ['10000'],
  },
  ...['1', '64'].map((loops) => ({
    name: `embedded, ${loops === '1' ? 'one at a time' : '64 in flight'}`,
    meaning: 'free locks in a folder, without a server',
    module: 'embedded-free',
    ours: 'holdfast',
    peers: ['proper-lockfile'],
    args: [loops, RUN_MS],
  })),
]

/** Prints the table. */
export async function measureQuick(progress: Progress): Promise<void> {
  const server = await startRedis()
  try {
    const workloads = [...onRedis(String(server.port)), ...WITHOUT_SERVER]
    const results = new Map<string, Figures[]>()
    const rounds = await runInTime(subjectsOf(workloads), results, progress)
    showTable(
      `the main ratios, paired rounds: ${rounds}`,
      ['workload', 'Holdfast', 'beside', 'its rate', 'ratio and 95% interval', 'what it means'],
      workloads.flatMap((workload) => linesOf(workload, results)),
    )
    console.log('\nA ratio above 1 says that Holdfast is faster. Compare no rates between runs.')
  } finally {
    await server.stop()
  }
}

function subjectsOf(workloads: readonly QuickWorkload[]): BenchSubject[] {
  return workloads.flatMap(({ name, module, ours, peers, args }) =>
    [ours, ...peers].map((one) => ({ name: `${name}: ${one}`, module, args: [one, ...args] })),
  )
}

/** Runs rounds until another one would not end in time. Resolves to their number. */
async function runInTime(
  subjects: readonly BenchSubject[],
  results: Map<string, Figures[]>,
  progress: Progress,
): Promise<number> {
  const startMs = performance.now()
  for (let rounds = 1; ; rounds += 1) {
    for (const subject of subjects) {
      progress(`round ${rounds}: ${subject.name}`)
      const figures = await runSubject(subject)
      results.set(subject.name, [...(results.get(subject.name) ?? []), figures])
    }
    const tookMs = performance.now() - startMs
    if (rounds === MOST_ROUNDS || tookMs + tookMs / rounds > MOST_MS) return rounds
  }
}

function linesOf(
  { name, meaning, ours, peers }: QuickWorkload,
  results: ReadonlyMap<string, readonly Figures[]>,
): string[][] {
  const own = ratesOf(results.get(`${name}: ${ours}`))
  return peers.map((peer, at) => {
    const theirs = ratesOf(results.get(`${name}: ${peer}`))
    const first = at === 0 ? [name, medianRate(own)] : ['', '']
    const ratio = inWords(pair(own, theirs))
    return [...first, peer, medianRate(theirs), ratio, at === 0 ? meaning : '']
  })
}
