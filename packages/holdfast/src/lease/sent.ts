import type { AttemptResult, Claim } from '../store/contract.js'
import type { Client } from './client.js'
import { isWatched, publish } from './events.js'

/** An attempt that is on its way, or was answered "waiting". */
export interface Sent {
  readonly claim: Claim
  readonly sentMs: number
  readonly offsetMs: number
}

export function announceAttempt(
  client: Client,
  { claim, sentMs }: Sent,
  { outcome }: AttemptResult,
): void {
  if (!isWatched('attempted')) return
  publish('attempted', () => ({
    ...client.event(claim),
    outcome,
    durationMs: client.clock.monotonicMs() - sentMs,
  }))
}
