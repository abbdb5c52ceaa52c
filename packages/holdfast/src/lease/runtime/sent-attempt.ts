import type { AttemptResult, Claim } from '../../store/contract.js'
import type { Runtime } from './runtime.js'

/** An attempt that is on its way, or was answered "waiting". */
export interface SentAttempt {
  readonly claim: Claim
  readonly sentMs: number
  readonly offsetMs: number
}

/** Publishes that the store answered an attempt. */
export function announceAnswer(
  runtime: Runtime,
  { claim, sentMs }: SentAttempt,
  { outcome }: AttemptResult,
): void {
  const durationMs = runtime.clock.monotonicMs() - sentMs
  runtime.announce('attempted', claim, { outcome, durationMs })
}
