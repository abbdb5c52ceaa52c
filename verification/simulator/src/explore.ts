/** Runs seed after seed and counts what it finds. */
import { drawCase, type Case } from './case.js'
import { judge, type Finding } from './judge/judge.js'
import { promisesOf } from './judge/promises.js'
import { runCase, type Outcome } from './run.js'
import { realRuntime, type Runtime } from './runtime.js'
import type { StoreName } from './server/models.js'

export interface Examined {
  readonly plan: Case
  readonly outcome: Outcome
  readonly findings: readonly Finding[]
}

/** Runs one case and judges it. */
export async function examine(plan: Case, runtime: Runtime = realRuntime): Promise<Examined> {
  const outcome = await runCase(plan, runtime)
  return { plan, outcome, findings: judge(plan, outcome) }
}

export interface Tally {
  readonly store: StoreName
  seeds: number
  /** Runs in which exclusion was promised, and tokens were. */
  exclusionPromised: number
  tokensPromised: number
  /** Leases that were held. */
  holds: number
  faults: number
  events: number
  /** The longest time until every waiter was served after healing. */
  longestDrainMs: number
  elapsedMs: number
  readonly failed: { readonly seed: number; readonly properties: readonly string[] }[]
}

export interface ExploreOptions {
  readonly store: StoreName
  readonly firstSeed: number
  readonly seeds: number
  readonly runtime?: Runtime
  /** Called after each seed. */
  readonly progress?: (tally: Tally) => void
  /** Ends the search early. */
  readonly enough?: (tally: Tally) => boolean
}

export async function explore(options: ExploreOptions): Promise<Tally> {
  const { store, firstSeed, seeds, runtime, progress, enough } = options
  const startedMs = performance.now()
  const tally = emptyTally(store)
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    count(tally, await examine(drawCase(seed, store), runtime))
    tally.elapsedMs = performance.now() - startedMs
    progress?.(tally)
    if (enough?.(tally) === true) break
    // The simulation itself never lets the process turn to signals and output.
    await new Promise((resolve) => void setImmediate(resolve))
  }
  return tally
}

function emptyTally(store: StoreName): Tally {
  return {
    store,
    seeds: 0,
    exclusionPromised: 0,
    tokensPromised: 0,
    holds: 0,
    faults: 0,
    events: 0,
    longestDrainMs: 0,
    elapsedMs: 0,
    failed: [],
  }
}

function count(tally: Tally, { plan, outcome, findings }: Examined): void {
  const promises = promisesOf(plan)
  tally.seeds += 1
  tally.exclusionPromised += Number(promises.exclusion)
  tally.tokensPromised += Number(promises.tokens)
  tally.holds += outcome.events.filter(({ f, type }) => f === 'acquire' && type === 'ok').length
  tally.faults += plan.faults.length
  tally.events += outcome.steps
  if (promises.liveness) tally.longestDrainMs = Math.max(tally.longestDrainMs, outcome.drainedMs)
  if (findings.length > 0) {
    const properties = [...new Set(findings.map(({ property }) => property))]
    tally.failed.push({ seed: plan.seed, properties })
  }
}
