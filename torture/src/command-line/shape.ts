/** How the work is shaped for each store. */
import { STORES, type StoreName } from '../stores.js'

export interface CommandLineShape {
  /** How many runs contend. */
  readonly places: number
  readonly ttlMs: number
  /** How long a run may wait after everything was healed, beside the commands before it. */
  readonly boundMs: number
}

const PLACES = 6
const LEAST_TTL_MS = 2000

export function shapeOf(store: StoreName): CommandLineShape {
  const { ttlMs, boundMs } = STORES[store]
  return { places: PLACES, ttlMs: Math.max(LEAST_TTL_MS, ttlMs), boundMs }
}
