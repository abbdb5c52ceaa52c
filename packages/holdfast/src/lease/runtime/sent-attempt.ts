import type { Claim } from '../../store/contract.js'

/** An attempt that is on its way, or was answered "waiting". */
export interface SentAttempt {
  readonly claim: Claim
  readonly sentMs: number
  readonly offsetMs: number
}
