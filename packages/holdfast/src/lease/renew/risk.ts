/**
 * A lease whose renewal is unanswered: when to ask again, and when it is at risk. Then it has used
 * up half its TTL. A renewal that gets through ends the risk.
 */
import { ANNOUNCE_EARLY_MS } from '../grant/deadline.js'
import type { Grant } from '../grant/grant.js'
import type { Runtime } from '../runtime/runtime.js'

/** Returns when an unanswered renewal becomes a risk that is not announced yet. */
export function riskMs({ isAtRisk, deadlineMs, ttlMs }: Grant): number {
  return isAtRisk ? Infinity : deadlineMs - ttlMs / 2
}

/** Returns when to repeat a renewal whose outcome is unknown. */
export function retryMs({ retryAtMs = Infinity }: Grant): number {
  return retryAtMs
}

/** Returns when to look again at a grant whose renewal is unanswered. */
export function nextLookMs(grant: Grant): number {
  return Math.min(retryMs(grant), riskMs(grant), grant.deadlineMs - ANNOUNCE_EARLY_MS)
}

/** Announces the risk. Where the deadline is near, the loss is announced instead. */
export function noteRisk(runtime: Runtime, grant: Grant, nowMs: number): void {
  const remainingMs = grant.deadlineMs - nowMs
  if (remainingMs <= ANNOUNCE_EARLY_MS) return
  grant.isAtRisk = true
  runtime.announce('at-risk', grant.claim, { remainingMs })
}

/** Ends the risk: a renewal got through. */
export function noteSafe(runtime: Runtime, grant: Grant, nowMs: number): void {
  grant.isAtRisk = false
  runtime.announce('safe', grant.claim, { remainingMs: grant.deadlineMs - nowMs })
}
