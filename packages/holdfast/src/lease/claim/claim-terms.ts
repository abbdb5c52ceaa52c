/** What a local queue wants of a claim, and what it hears of it. */
import type { AttemptOptions } from '../../store/contract.js'
import type { Grant } from '../grant/grant.js'
import type { Outage } from '../wait/outage.js'

export interface ClaimTerms {
  /** Join the store's queue. Without it, a busy lock ends the claim. */
  readonly enqueue: boolean
  readonly renews: boolean
  /** Called before each attempt. */
  attemptTerms(): AttemptTerms
}

export interface AttemptTerms {
  readonly options: AttemptOptions
  /** How many callers of this process stand behind the claim now. */
  readonly localWaiters: number
}

export interface ClaimListener {
  /** Called once. Without grant and error: the lock was busy and the claim did not queue. */
  done(grant: Grant | undefined, error?: unknown): void
  /** Called at each attempt that was answered "waiting". */
  waiting?(): void
  /** Called at each attempt that found no store and will be sent again. */
  failing?(outage: Outage): void
}
