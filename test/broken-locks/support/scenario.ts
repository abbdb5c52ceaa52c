/** A scenario: the least that shows one trap. */
import type { ControlLease } from '@holdfast/broken-locks'
import type { World } from './world.js'

export interface Scenario {
  readonly ttlMs?: number
  /** Which lock shows it cured: a higher rung of the ladder, or the good lock. */
  readonly curedBy?: string
  /** Whether the damage was done. */
  readonly run: (world: World) => Promise<boolean>
}

/** For what a scenario cannot go on without. */
export function granted(lease: ControlLease | undefined): ControlLease {
  if (!lease) throw new Error('The scenario needs this lease to be granted.')
  return lease
}
