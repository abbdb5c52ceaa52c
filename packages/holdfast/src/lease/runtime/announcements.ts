/** Publishes what happens to claims, grants and leases. */
import type { LossReason } from '../../errors.js'
import type { AttemptResult, Claim } from '../../store/contract.js'
import { publish } from './events.js'
import type { Grant } from '../grant/grant.js'
import type { Runtime } from './runtime.js'
import type { SentAttempt } from './sent-attempt.js'

/** The store answered an attempt. */
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

/** A claim waits in the store's queue. */
export function announceQueued(runtime: Runtime, claim: Claim): void {
  publish('queued', () => runtime.event(claim))
}

/** A lease begins. `durationMs`: how long its holder waited. */
export function announceGrant(runtime: Runtime, { claim, token }: Grant, durationMs: number): void {
  publish('granted', () => ({ ...runtime.event(claim), token, durationMs }))
}

/** A lease begins that the last holder handed on. `durationMs`: how long its holder waited. */
export function announceHandOff(
  runtime: Runtime,
  claim: Claim,
  token: bigint,
  durationMs: number,
): void {
  publish('handed-off', () => ({ ...runtime.event(claim), token, durationMs }))
}

/** A renewal got through. `durationMs`: how long it took. */
export function announceRenewal(runtime: Runtime, claim: Claim, durationMs: number): void {
  publish('renewed', () => ({ ...runtime.event(claim), durationMs }))
}

/** The outcome of a renewal is unknown. */
export function announceUnknownRenewal(runtime: Runtime, claim: Claim, error: unknown): void {
  publish('renewal-unknown', () => ({ ...runtime.event(claim), error }))
}

/** A lease has used up half its TTL while a renewal is unanswered. */
export function announceRisk(runtime: Runtime, claim: Claim, remainingMs: number): void {
  publish('at-risk', () => ({ ...runtime.event(claim), remainingMs }))
}

/** A renewal of a lease at risk got through. */
export function announceSafe(runtime: Runtime, claim: Claim, remainingMs: number): void {
  publish('safe', () => ({ ...runtime.event(claim), remainingMs }))
}

/** A lease ended against its holder's will. `durationMs`: how long it was held. */
export function announceLoss(
  runtime: Runtime,
  claim: Claim,
  reason: LossReason,
  durationMs: number,
): void {
  publish('lost', () => ({ ...runtime.event(claim), reason, durationMs }))
}

/** A holder gave its lease back. `durationMs`: how long it was held. */
export function announceRelease(
  runtime: Runtime,
  claim: Claim,
  outcome: 'released' | 'lost',
  durationMs: number,
): void {
  publish('released', () => ({ ...runtime.event(claim), outcome, durationMs }))
}
