import type { AttemptResult, Claim } from '../store/contract.js'
import type { Runtime } from './runtime.js'
import { publish } from './events.js'

/** An attempt that is on its way, or was answered "waiting". */
export interface SentAttempt {
  readonly claim: Claim
  readonly sentMs: number
  readonly offsetMs: number
}

export function announceAttempt(
  runtime: Runtime,
  { claim, sentMs }: SentAttempt,
  { outcome }: AttemptResult,
): void {
  publish('attempted', () => ({
    ...runtime.event(claim),
    outcome,
    durationMs: runtime.clock.monotonicMs() - sentMs,
  }))
}
