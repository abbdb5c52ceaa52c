/**
 * How much is tested: `HOLDFAST_TEST=fast|usual|full`.
 *
 * `fast` is what may differ most from one Node to the next, with few rounds; `usual` is nearly
 * every test; `full` is all of them, with more rounds of killed processes, where the rare
 * interleavings are.
 */
const PLANS = ['fast', 'usual', 'full'] as const
export type Plan = (typeof PLANS)[number]

/** Test files that a plan leaves out, and why. */
export interface LeftOut {
  readonly reason: string
  readonly files: readonly string[]
}

const ONLY_IN_FULL: readonly LeftOut[] = [
  {
    reason: 'older majors of client libraries, whose newer ones stay',
    files: [
      'test/conformance/redis-ioredis5.test.ts',
      'test/conformance/redis-sentinel-ioredis5.test.ts',
      'test/conformance/redis-cluster-ioredis5.test.ts',
    ],
  },
  {
    reason: 'the second library over Sentinels and over a Cluster, where one of the two stays',
    files: [
      'test/conformance/redis-sentinel-redis6.test.ts',
      'test/conformance/redis-cluster-ioredis6.test.ts',
    ],
  },
  {
    reason:
      'the previous version beside this one on every store, for some minutes; it needs the history of the repository',
    files: ['test/versions/**'],
  },
]

const NOT_IN_FAST: readonly LeftOut[] = [
  {
    reason:
      'plain code in virtual time, and models of it: what holds on one Node holds on the next',
    files: [
      'test/conformance/broken-stores.test.ts',
      'test/broken-locks/**',
      'test/model/**',
      'test/simulator/**',
      'packages/holdfast/test/check/search.test.ts',
    ],
  },
  {
    reason:
      'what servers do; the suite over one of them stays, and `full` has all of it on each Node',
    files: [
      'test/torture/**',
      'test/servers/**',
      'test/oversell/**',
      'test/rule/**',
      'test/libraries/**',
      'test/transaction/**',
      'test/conformance/redis-redis6.test.ts',
      'test/conformance/redis-sentinel-ioredis6.test.ts',
      'test/conformance/redis-cluster-redis6.test.ts',
      'test/conformance/redlock.test.ts',
      'test/conformance/etcd.test.ts',
      'test/conformance/etcd-cluster.test.ts',
      'test/conformance/zookeeper.test.ts',
      'test/conformance/zookeeper-ensemble.test.ts',
      'test/conformance/postgres.test.ts',
      'test/conformance/mysql.test.ts',
      ...['etcd', 'mysql', 'postgres', 'redis', 'redlock', 'sql', 'zookeeper'].map(
        (folder) => `packages/holdfast/test/${folder}/**`,
      ),
      ...[
        'databases',
        'databases-doctor',
        'etcd',
        'lab',
        'redis',
        'redis-doctor',
        'redis-topologies',
        'zookeeper',
      ].map((command) => `packages/cli/test/commands/${command}.test.ts`),
      'packages/lab/test/scenarios.test.ts',
    ],
  },
]

const KILL_ROUNDS = { fast: 4, usual: 10, full: 300 } as const
/** Servers take longer over it, and there are many of them. */
const SERVER_KILL_ROUNDS = { fast: 3, usual: 4, full: 300 } as const

/**
 * @throws Error when the variable has another value: a test that is left out by a slip of the pen
 * would not be missed.
 */
export function planOf(text: string | undefined = process.env['HOLDFAST_TEST']): Plan {
  const plan = PLANS.find((name) => name === (text ?? 'usual'))
  if (plan) return plan
  throw new Error(
    `HOLDFAST_TEST=${JSON.stringify(text)} is unknown. Write one of: ${PLANS.join(', ')}.`,
  )
}

/** Test files that the plan leaves out. */
export function leftOut(plan: Plan): readonly LeftOut[] {
  if (plan === 'full') return []
  return plan === 'fast' ? [...NOT_IN_FAST, ...ONLY_IN_FULL] : ONLY_IN_FULL
}

/** How many processes the crash tests kill. */
export function killRounds(plan: Plan = planOf()): number {
  return KILL_ROUNDS[plan]
}

/** How many processes the crash tests of a store in a server kill. */
export function serverKillRounds(plan: Plan = planOf()): number {
  return SERVER_KILL_ROUNDS[plan]
}
