/** Runs one seed after the other, and counts. */
import { realRuntime, type Runtime } from '../runtime.js'
import type { StoreName } from '../server/models.js'
import { formatTable } from '../table.js'
import { drawDeadlockCase } from './case.js'
import { runDeadlocks, type DeadlockOutcome } from './run.js'

export interface DeadlockTally {
  readonly store: StoreName
  seeds: number
  /** How many deadlocks were reported. */
  reports: number
  /** The longest time from the closing of a deadlock to its report, where no fault struck. */
  longestMs: number
  readonly failed: { readonly seed: number; readonly findings: DeadlockOutcome['findings'] }[]
}

export interface DeadlockSearch {
  readonly store: StoreName
  readonly firstSeed: number
  readonly seeds: number
  readonly runtime?: Runtime
  /** Ends the search. */
  readonly isOver?: (tally: DeadlockTally) => boolean
}

/** Redlock shows no waiters, so it finds only the deadlocks inside one client. */
export const DEADLOCK_STORES: readonly StoreName[] = ['memory', 'wall', 'poll', 'redis']

export async function exploreDeadlocks(search: DeadlockSearch): Promise<DeadlockTally> {
  const { store, firstSeed, seeds, runtime = realRuntime, isOver = () => false } = search
  const tally: DeadlockTally = { store, seeds: 0, reports: 0, longestMs: 0, failed: [] }
  for (let seed = firstSeed; seed < firstSeed + seeds && !isOver(tally); seed += 1) {
    const { findings, reports, longestMs } = await runDeadlocks(
      drawDeadlockCase(seed, store),
      runtime,
    )
    tally.seeds += 1
    tally.reports += reports
    tally.longestMs = Math.max(tally.longestMs, longestMs)
    if (findings.length > 0) tally.failed.push({ seed, findings })
  }
  return tally
}

/** Prints what the seeds of each store model showed. Returns the exit code. */
export async function simulateDeadlocks(
  { stores, firstSeed, seeds }: Omit<DeadlockSearch, 'store'> & { stores: readonly StoreName[] },
  progress: (text: string) => void,
): Promise<number> {
  const tallies: DeadlockTally[] = []
  for (const store of stores.filter((name) => DEADLOCK_STORES.includes(name))) {
    progress(`deadlocks over ${store}`)
    tallies.push(await exploreDeadlocks({ store, firstSeed, seeds }))
  }
  progress('')
  const failed = tallies.flatMap((tally) => tally.failed.map((one) => ({ ...tally, ...one })))
  for (const { store, seed, findings } of failed) {
    console.log(`seed ${seed}, store ${store}:`)
    for (const { property, message } of findings) console.log(`  ${property}: ${message}`)
  }
  const rows = tallies.map(({ store, seeds, reports, longestMs, failed: bad }) => [
    store,
    String(seeds),
    String(reports),
    `${longestMs.toFixed(0)} ms`,
    bad.length === 0 ? 'none' : String(bad.length),
  ])
  const head = ['store', 'seeds', 'deadlocks reported', 'longest until a report', 'failed']
  console.log(`\n${formatTable(head, rows)}`)
  return failed.length > 0 ? 1 : 0
}
