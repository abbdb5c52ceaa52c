/**
 * How much is tested: `HOLDFAST_TEST=fast|usual|full`.
 *
 * `fast` is what may differ from one Node to the next, with few rounds; `usual` is every test; `full` adds rounds of
 * killed processes, where the rare interleavings are.
 */
const PLANS = ['fast', 'usual', 'full'] as const
export type Plan = (typeof PLANS)[number]

/** Plain code in virtual time, and models of it: what holds on one Node holds on the next. */
const LEFT_OUT_OF_FAST = [
  'test/conformance/broken-stores.test.ts',
  'test/controls/**',
  'test/model/**',
  'test/simulator/**',
  'test/torture/**',
  'packages/holdfast/test/check/search.test.ts',
  // The newer versions of the same client libraries stay.
  'test/conformance/redis-ioredis5.test.ts',
  'test/conformance/redis-redis5.test.ts',
]

const KILL_ROUNDS = { fast: 5, usual: 30, full: 300 } as const

/** @throws Error when the variable has another value: a test that is left out by a slip of the pen would not be missed. */
export function planOf(text: string | undefined = process.env['HOLDFAST_TEST']): Plan {
  const plan = PLANS.find((name) => name === (text ?? 'usual'))
  if (plan) return plan
  throw new Error(`HOLDFAST_TEST=${JSON.stringify(text)} is unknown. Write one of: ${PLANS.join(', ')}.`)
}

/** Test files that the plan leaves out. */
export function leftOut(plan: Plan): readonly string[] {
  return plan === 'fast' ? LEFT_OUT_OF_FAST : []
}

/** How many processes the crash tests kill. */
export function killRounds(plan: Plan = planOf()): number {
  return KILL_ROUNDS[plan]
}
