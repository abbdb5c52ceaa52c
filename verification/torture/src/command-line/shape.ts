/** How the work is shaped for each store. */
import { hasNewest } from '@holdfast/servers/newest'
import type { FaultKind } from '@holdfast/stores/faults/catalogue'
import { storeOf } from '@holdfast/stores'

export interface CommandLineShape {
  /** How many runs contend that faults of runs meet. */
  readonly contenders: number
  /** How many more there are, of runs inside of runs. */
  readonly nested: number
  /** Whether the store ends a wait of these that would never end. */
  readonly findsDeadlocks: boolean
  /** Whether the store has semaphores. */
  readonly counts: boolean
  readonly ttlMs: number
  /** How long a run may wait after everything was healed, beside the commands before it. */
  readonly boundMs: number
  /** Runs Debian's newest server, which has not the fault that waives promises for older ones. */
  readonly newest: boolean
}

const CONTENDERS = 6
const NESTED = 2
const LEAST_TTL_MS = 2000

export function shapeOf(store: string): CommandLineShape {
  const { ttlMs, boundMs, mended, findsDeadlocks, counts } = storeOf(store).torture
  return {
    contenders: CONTENDERS,
    nested: NESTED,
    findsDeadlocks,
    counts,
    ttlMs: Math.max(LEAST_TTL_MS, ttlMs),
    boundMs,
    newest: mended !== undefined && hasNewest(mended.server),
  }
}

/** The faults under which everything is promised because the newest server runs. */
export function mendedFaults(store: string): readonly FaultKind[] {
  return shapeOf(store).newest ? (storeOf(store).torture.mended?.faults ?? []) : []
}

/** What is left out, and what to do about it; undefined when nothing is. */
export function leftOutOf(store: string): string | undefined {
  const { mended } = storeOf(store).torture
  if (!mended || shapeOf(store).newest) return undefined
  return (
    `The faults ${mended.faults.join(' and ')} are left out on ${store}: ${mended.because}. ` +
    `For a newer one: npm run servers:newest -- ${mended.server.name}`
  )
}
