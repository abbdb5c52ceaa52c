/**
 * The replaceable parts of a lock with leases. The good lock puts the right ones in; most controls
 * replace one.
 */
import type { Clock } from 'holdfast'
import type { Moment } from '../ask.js'
import type { ControlSettings, ControlWorld } from '../contract.js'

/** One attempt to hold the lock, which keeps its id however often it is sent. */
export interface Claim {
  readonly id: string
  readonly lock: string
  readonly ttlMs: number
}

export type Answer =
  | { readonly outcome: 'granted' | 'existing'; readonly token?: bigint }
  /** `remainingMs` is negative if the holder's lease does not expire. */
  | { readonly outcome: 'busy'; readonly remainingMs: number }
  /** The claim was given up before. */
  | { readonly outcome: 'withdrawn' }

/** When the request that was granted or renewed travelled. */
export interface Timing {
  /**
   * A moment at which Redis had certainly not yet started the TTL, though the request may have been
   * sent again since.
   */
  readonly base: Moment
  /** When the request that got the answer was sent. */
  readonly sent: Moment
  readonly replied: Moment
}

/**
 * How long a holder still believes: asked again and again, for it may depend on a clock that jumps.
 */
export type Belief = () => number

export interface Parts {
  attempt(world: ControlWorld, claim: Claim): Promise<Answer>
  /** Whether the claim still had the lock, which now lasts a TTL longer. */
  renew(world: ControlWorld, claim: Claim): Promise<boolean>
  /** Gives up the claim, held or not. Whether it held the lock until now. */
  free(world: ControlWorld, claim: Claim): Promise<boolean>
  believe(timing: Timing, ttlMs: number, clock: Clock): Belief
  /** How long to wait for a wake-up before looking again by oneself. */
  patienceMs(remainingMs: number, world: ControlWorld, settings: ControlSettings): number
  /** How often to renew; Infinity for never. */
  readonly renewEveryMs: (ttlMs: number) => number
  /** What the watchdog does when it hears that the lock is another's. */
  readonly whenRefused: 'stop' | 'go on'
  /** What becomes of a claim that may have been granted without anyone knowing. */
  readonly whenInDoubt: 'withdraw' | 'forget'
}

/** A grant, and when it was asked for. */
export interface Grant extends Timing {
  readonly token: bigint | undefined
}

/** What a lock and its leases work with. */
export interface Means {
  readonly parts: Parts
  readonly world: ControlWorld
  readonly settings: ControlSettings
}

export function channelOf(lock: string): string {
  return `${lock}:freed`
}
