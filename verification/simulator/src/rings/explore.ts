/** Runs one seed after the other, and counts. */
import { realRuntime, type Runtime } from '../runtime.js'
import type { StoreName } from '../server/models.js'
import { formatTable } from '../table.js'
import { drawRingCase } from './case.js'
import { runRings, type RingOutcome } from './run.js'

export interface RingTally {
  readonly store: StoreName
  seeds: number
  /** How many deadlocks were reported. */
  reports: number
  /** The longest time from the closing of a ring to its report, where no fault struck. */
  longestMs: number
  readonly failed: { readonly seed: number; readonly findings: RingOutcome['findings'] }[]
}

export interface RingSearch {
  readonly store: StoreName
  readonly firstSeed: number
  readonly seeds: number
  readonly runtime?: Runtime
  /** Ends the search. */
  readonly isOver?: (tally: RingTally) => boolean
}

/** Redlock shows no waiters, so it finds only the deadlocks inside one client. */
export const RING_STORES: readonly StoreName[] = ['memory', 'wall', 'poll', 'redis']

export async function exploreRings(search: RingSearch): Promise<RingTally> {
  const { store, firstSeed, seeds, runtime = realRuntime, isOver = () => false } = search
  const tally: RingTally = { store, seeds: 0, reports: 0, longestMs: 0, failed: [] }
  for (let seed = firstSeed; seed < firstSeed + seeds && !isOver(tally); seed += 1) {
    const { findings, reports, longestMs } = await runRings(drawRingCase(seed, store), runtime)
    tally.seeds += 1
    tally.reports += reports
    tally.longestMs = Math.max(tally.longestMs, longestMs)
    if (findings.length > 0) tally.failed.push({ seed, findings })
  }
  return tally
}

/** Prints what the seeds of each store model showed. Returns the exit code. */
export async function simulateRings(
  { stores, firstSeed, seeds }: Omit<RingSearch, 'store'> & { stores: readonly StoreName[] },
  progress: (text: string) => void,
): Promise<number> {
  const tallies: RingTally[] = []
  for (const store of stores.filter((name) => RING_STORES.includes(name))) {
    progress(`rings over ${store}`)
    tallies.push(await exploreRings({ store, firstSeed, seeds }))
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
