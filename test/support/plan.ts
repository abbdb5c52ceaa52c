/**
 * How much is tested: `HOLDFAST_TEST=fast|usual|full`.
 *
 * | plan    | what it runs                                                                       |
 * | ------- | ---------------------------------------------------------------------------------- |
 * | `fast`  | what a Node's version may change, with few rounds                                  |
 * | `usual` | every store under the whole conformance suite, and nearly every other test         |
 * | `full`  | every test, and more rounds of killed processes, where the rare interleavings are  |
 *
 * `npm run test:full` runs `full` in parts, on one Node (scripts/plan/parts.mjs).
 */
const PLANS = ['fast', 'usual', 'full'] as const
export type Plan = (typeof PLANS)[number]

/** Test files that a plan leaves out, and why. */
export interface LeftOut {
  readonly reason: string
  readonly files: readonly string[]
  /** What else is left out, inside of files that run. */
  readonly parts?: readonly string[]
}

const ALL = ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts']

/** Tests in virtual time that keep a core busy for seconds. All others mostly wait. */
export const COMPUTING: readonly string[] = [
  'packages/conformance/test/**/*.test.ts',
  ...['broken-locks', 'model', 'simulator'].map((folder) => `test/${folder}/**/*.test.ts`),
  ...['broken-stores', 'faulty-store', 'limited-store', 'memory', 'suite'].map(
    (name) => `test/conformance/${name}.test.ts`,
  ),
]

/**
 * Tests of what a process does once, each in a process of its own. All other files share a few
 * processes, since the start of one takes a third of a second of a processor.
 */
export const OWN_PROCESS: readonly string[] = [
  // A warning that a process prints once.
  'packages/holdfast/test/redis/options.test.ts',
  'packages/holdfast/test/lease/wait/outage-warning.test.ts',
  'packages/holdfast/test/lease/wait/self-wait.test.ts',
  'packages/holdfast/test/sql/warnings.test.ts',
  // A call that another file left open keeps the process alive too.
  'packages/holdfast/test/lease/wait/liveness.test.ts',
  // Locks of a peer are left held, and renew themselves without a server.
  'test/migrate/redis-semaphore.test.ts',
  // Collecting garbage announces what any test of the process has forgotten.
  'packages/holdfast/test/lease/hold/forgotten-end.test.ts',
  // It hears the events of all clients of the process, those announcements too.
  'packages/holdfast/test/lease/runtime/log-events.test.ts',
]

/** Timers, async contexts, `node:sqlite`, sockets and processes differ from Node to Node. */
const FAST_FOLDERS = ['lease', 'locks', 'clock', 'embedded'].map(
  (folder) => `packages/holdfast/test/${folder}/`,
)
const FAST = FAST_FOLDERS.map((folder) => `${folder}**/*.test.ts`)

const NOT_IN_FAST: LeftOut = {
  reason: `a Node's version changes nothing there`,
  files: [`all but ${FAST.join(', ')}`],
}

const ONLY_IN_FULL: readonly LeftOut[] = [
  {
    reason: 'a second client library or topology of a store, where the suite runs over one',
    files: [
      'test/conformance/redis-http.test.ts',
      'test/conformance/redis-ioredis5.test.ts',
      'test/conformance/redis-redis6.test.ts',
      'test/conformance/redis-sentinel-ioredis5.test.ts',
      'test/conformance/redis-sentinel-ioredis6.test.ts',
      'test/conformance/redis-sentinel-redis6.test.ts',
      'test/conformance/redis-cluster-ioredis5.test.ts',
      'test/conformance/redis-cluster-ioredis6.test.ts',
      'test/conformance/postgres-postgres.test.ts',
    ],
  },
  {
    reason: 'the suite in real time, where memory.test.ts runs it in virtual time',
    files: ['test/conformance/memory-real-time.test.ts'],
  },
  {
    reason: 'the previous version beside this one, which needs the history of the repository',
    files: ['test/versions/**'],
  },
  {
    reason: 'it guards against changes of client libraries, by two minutes of broken connections',
    files: ['packages/holdfast/test/redis/answers.test.ts'],
  },
  {
    reason: 'each integration has one smoke test, which runs',
    files: [
      'packages/fastify/test/requests/**',
      ...['decorators', 'handlers', 'module'].map((room) => `packages/nestjs/test/${room}/**`),
      'test/examples/nestjs.test.ts',
      'test/schedules/what-remains.test.ts',
      'test/examples/recipes/http.test.ts',
      'test/examples/recipes/bullmq.test.ts',
      'test/examples/idempotency/**',
      'test/examples/observability/**',
    ],
  },
  {
    reason: 'each takes long, and other tests or a smaller set of the same file run',
    files: ['test/oversell/**'],
    parts: [
      'test/torture/round.test.ts but redis',
      'test/torture/caught.test.ts but one mutation and one broken lock',
      'test/boot/late-server.test.ts but one or two client libraries a store',
      'test/lifetime/lifetime.test.ts but three stores',
      'test/model/model.test.ts but three variants',
      'packages/lab/test/scenarios.test.ts but SQLite and the everyday scenes',
      'nine of ten histories of packages/conformance/test/check/search.test.ts',
      'most seeds of test/simulator/{good,deadlocks}.test.ts, with other seeds each day',
      'three of four histories of packages/conformance/test/check/good-lock.test.ts',
      'the rates in test/simulator/controls.test.ts, and two thirds of mutations.test.ts',
      'all but the dying leaders in test/conformance/{etcd-cluster,zookeeper-ensemble}.test.ts',
      'the second library in packages/holdfast/test/cli/commands/redis.test.ts',
      'test/frameworks/console.test.ts but Express',
      'interrupted runs in packages/holdfast/test/cli/commands/lab.test.ts and test/torture/command.test.ts',
      'two of three histories of test/rule/differential.ts',
      'four of five patterns and times of packages/holdfast/test/cron/slot-of.test.ts',
      'most of the races of verbs in the conformance suite, where each run draws other ones',
      'users, mounts, kills and longer races in packages/holdfast/test/embedded/path',
      'half of the cases of packages/holdfast/test/console/page/page.test.ts',
    ],
  },
]

/**
 * Returns how many files and how many cases of a file run at a time, for two cores. A file of the
 * usual plan that waits uses a third of a core, and one that computes takes what is left. The cases
 * of the conformance suite mostly wait. What the full plan adds computes, or keeps a server busy:
 * half as much at a time leaves the tests' own clocks true.
 */
export function atATime(plan: Plan): { maxWorkers: number; maxConcurrency: number } {
  return plan === 'full'
    ? { maxWorkers: 3, maxConcurrency: 4 }
    : { maxWorkers: 6, maxConcurrency: 8 }
}

const KILL_ROUNDS = { fast: 4, usual: 10, full: 300 } as const
/** Pairs of verbs that each case of races draws. */
const RACES = { fast: 6, usual: 12, full: 400 } as const
/** A round takes longer with a server, and many stores have one. */
const SERVER_KILL_ROUNDS = { fast: 3, usual: 4, full: 100 } as const

/**
 * Returns the plan that the variable names.
 * @throws Error when there is no such plan: a misspelt name must not leave out tests.
 */
export function planOf(text: string | undefined = process.env['HOLDFAST_TEST']): Plan {
  const plan = PLANS.find((name) => name === (text ?? 'usual'))
  if (plan) return plan
  throw new Error(
    `HOLDFAST_TEST=${JSON.stringify(text)} is unknown. Write one of: ${PLANS.join(', ')}.`,
  )
}

/** Returns the patterns of the test files that the plan chooses from. */
export function testFiles(plan: Plan): {
  computing: readonly string[]
  ownProcess: readonly string[]
  waiting: readonly string[]
} {
  return plan === 'fast'
    ? { computing: [], ownProcess: OWN_PROCESS.filter(isFast), waiting: FAST }
    : { computing: COMPUTING, ownProcess: OWN_PROCESS, waiting: ALL }
}

function isFast(file: string): boolean {
  return FAST_FOLDERS.some((folder) => file.startsWith(folder))
}

/** Returns what the plan leaves out. */
export function leftOut(plan: Plan): readonly LeftOut[] {
  if (plan === 'full') return []
  return plan === 'fast' ? [NOT_IN_FAST] : ONLY_IN_FULL
}

/** Returns whether tests that take minutes run as well. */
export function isFull(): boolean {
  return planOf() === 'full'
}

/** Returns how many processes a crash test kills. */
export function killRounds(plan: Plan = planOf()): number {
  return KILL_ROUNDS[plan]
}

/** Returns how many processes a crash test of a store in a server kills. */
export function serverKillRounds(plan: Plan = planOf()): number {
  return SERVER_KILL_ROUNDS[plan]
}

/** Returns how many pairs of verbs a case of the conformance suite races on one claim. */
export function raceCount(plan: Plan = planOf()): number {
  return RACES[plan]
}

/**
 * Returns the first seed of tests that draw histories. Each day has another seed, so that many
 * days of the usual plan cover one run of the full plan. `HOLDFAST_FIRST_SEED` repeats a day.
 */
export function firstSeed(seedsPerDay: number): number {
  const chosen = process.env['HOLDFAST_FIRST_SEED']
  if (chosen !== undefined) return Number(chosen)
  return 1 + (today() % 1000) * seedsPerDay
}

function today(): number {
  return Math.floor(Date.now() / 86_400_000)
}

/** Returns all items in the full plan, and otherwise one part of them, another one each day. */
export function todaysPart<Item>(items: readonly Item[], parts: number): readonly Item[] {
  return isFull() ? items : items.filter((_, index) => index % parts === today() % parts)
}
