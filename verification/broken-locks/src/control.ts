/** What the catalogue says of a control. */
import type { ControlLock, ControlSettings, ControlWorld } from './contract.js'

/**
 * The promise that a control breaks first. What a checker sees may be what follows from it: a
 * release of another's lock shows as two holders.
 */
export type BrokenPromise =
  /** Two believe to hold the lock at once. */
  | 'exclusion'
  /**
   * A fencing token is given twice, or does not grow, so that a stale holder gets past the fence.
   */
  | 'tokens'
  /** Release answers "released" for what was no longer held, or frees what is another's. */
  | 'release'
  /**
   * An attempt that arrives twice or late leaves a lock that no client holds, or one that is held
   * once too often.
   */
  | 'repeats'
  /** A live waiter waits forever, or far longer than a TTL. */
  | 'liveness'

export interface Expectation {
  /**
   * The share of seeds that catch it under mixed faults: 4 clients, a TTL of 1 s, 20 s of virtual
   * time. Undefined where chance hardly ever meets the trap, so that only its directed scenario
   * shows it.
   */
  readonly perSeed?: number
  /** The least that shows it, step by step. `test/controls` drives it. */
  readonly directed: string
}

export interface Control {
  readonly id: string
  /** Where it stands on the ladder of Redis locks, if it does. */
  readonly rung?: number
  readonly title: string
  readonly trap: string
  readonly damage: string
  readonly cure: string
  readonly breaks: BrokenPromise
  /** The fault that reveals it. */
  readonly fault: string
  /** A layer that would hide the trap and is off as well. */
  readonly unmasked?: string
  readonly caught: Expectation
  create(world: ControlWorld, settings: ControlSettings): ControlLock
}
