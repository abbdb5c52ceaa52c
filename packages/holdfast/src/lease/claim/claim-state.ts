/** The states of a pending claim, and what follows from them about a grant. */
import {
  HEARTBEATS_TO_LIVE,
  type Claim,
  type Granted,
  type PushedGrant,
} from '../../store/contract.js'
import { invariant } from '../../invariant.js'
import { deadlineFrom, foundGrantBaseMs } from '../grant/deadline.js'
import type { GrantOffer, GrantTerms, Moment } from '../grant/grant.js'
import type { SentAttempt } from '../runtime/sent-attempt.js'

/** No attempt has left: an earlier caller of this client found no store. */
export interface Unsent {
  readonly name: 'unsent'
}

/** Attempts have left, and the store has not said that the claim waits. */
export interface Attempted {
  readonly name: 'attempted'
  readonly first: SentAttempt
  /** How often the store, which keeps no queue, answered "busy". */
  readonly polls: number
  /** An attempt found no store and was sent again: a grant may come from either. */
  readonly isResent: boolean
}

/** The store said that the claim waits in its queue. */
export interface Queued {
  readonly name: 'queued'
  /** The latest attempt that was answered "waiting": a grant that is reported later came after. */
  readonly waiting: SentAttempt
  /** The longest time between an attempt and the next one that was answered "waiting". */
  readonly silentMs: number
}

/**
 * The clocks parted, so a grant may be over, and another grant with another token may have
 * followed. Only the answer to an attempt that left since can tell.
 */
export interface InDoubt {
  readonly name: 'in-doubt'
  /** As `Queued.waiting`, or the first attempt: since then nothing is known. */
  readonly since: SentAttempt
  /** As in `Queued`. */
  readonly silentMs: number
}

/** The client renews a fixed lease to its whole TTL before it hands the lease out. */
export interface ToppingUp {
  readonly name: 'topping-up'
  readonly before: Attempted | Queued | InDoubt
}

/** The listener has the outcome, or no caller wants the lock any more. */
export interface Ended {
  readonly name: 'ended'
}

export type ClaimState = Unsent | Attempted | Queued | InDoubt | ToppingUp | Ended

export const UNSENT: Unsent = { name: 'unsent' }
export const ENDED: Ended = { name: 'ended' }

type Evidence = Exclude<ClaimState, ToppingUp>

/** Returns what is known of the time before a grant. */
export function evidenceOf(state: ClaimState): Evidence {
  return state.name === 'topping-up' ? state.before : state
}

/** Returns the terms of a grant that was made before the attempt which found it. */
export function termsOfFoundGrant(
  granted: Granted,
  sent: SentAttempt,
  state: ClaimState,
): GrantTerms {
  const { token, tokens, ttlMs } = granted
  const evidence = evidenceOf(state)
  // An answer that was overtaken by a later "waiting" reports a grant from before that.
  const waiting =
    evidence.name === 'queued' && evidence.waiting.sentMs <= sent.sentMs
      ? evidence.waiting
      : undefined
  // The clocks are compared from the oldest moment on, or a sleep in between would go unseen.
  const oldest = waiting ?? (evidence.name === 'attempted' ? evidence.first : sent)
  const sentMs = foundGrantBaseMs(granted, sent.sentMs, waiting?.sentMs)
  return { token, tokens, ttlMs, sentMs, offsetMs: oldest.offsetMs }
}

/**
 * Returns the terms of a pushed grant; undefined after a silence in which an earlier grant could
 * have ended unseen. Then the message may be about that one.
 */
export function termsOfPush(
  pushed: PushedGrant,
  { ttlMs, heartbeatMs }: Claim,
  { waiting, silentMs }: Queued,
): GrantTerms | undefined {
  // No store pushes a longer TTL. A message that says more is damaged or forged: then the first
  // renewal finds out.
  const longestMs = Math.min(ttlMs, heartbeatMs * HEARTBEATS_TO_LIVE)
  const shownMs = Math.min(pushed.ttlMs, longestMs)
  if (deadlineFrom(0, shownMs) <= silentMs) return undefined
  const { token, tokens } = pushed
  return { token, tokens, ttlMs: shownMs, sentMs: waiting.sentMs, offsetMs: waiting.offsetMs }
}

/**
 * A wait may use up this share of the TTL of a fixed lease. Beyond it the client renews the claim
 * once before it hands out the lease.
 */
const AGED_SHARE = 0.01

/**
 * Whether a fixed lease with these terms would end early. A pushed grant counts from an earlier
 * heartbeat, and one that a retry finds counts from an earlier attempt.
 */
export function isAged(
  state: ClaimState,
  claim: Claim,
  { ttlMs }: GrantOffer,
  { sentMs }: Moment,
  nowMs: number,
): boolean {
  const evidence = evidenceOf(state)
  if (evidence.name === 'attempted' && !evidence.isResent) return false
  return ttlMs < claim.ttlMs || nowMs - sentMs > AGED_SHARE * ttlMs
}

/** Returns the state after the clocks have parted around a grant. */
export function afterDoubt(state: ClaimState): InDoubt {
  const evidence = evidenceOf(state)
  const since = sinceOf(evidence)
  invariant(since !== undefined, 'a grant answers an attempt')
  return { name: 'in-doubt', since, silentMs: silentMsOf(evidence) }
}

/** Returns the latest attempt of which it is known that no grant came before it. */
function sinceOf(evidence: Evidence): SentAttempt | undefined {
  if (evidence.name === 'attempted') return evidence.first
  if (evidence.name === 'queued') return evidence.waiting
  return evidence.name === 'in-doubt' ? evidence.since : undefined
}

function silentMsOf(evidence: Evidence): number {
  return 'silentMs' in evidence ? evidence.silentMs : 0
}

/** Returns the state after an attempt was answered "waiting". */
export function afterWaiting(
  state: ClaimState,
  sent: SentAttempt,
  nowMs: number,
  offsetMs: number,
): Queued | ToppingUp {
  const evidence = evidenceOf(state)
  const earlier = evidence.name === 'queued' ? evidence.waiting : undefined
  const since = sinceOf(evidence) ?? sent
  // By either clock: the monotonic one does not count while the machine sleeps.
  const quietMs = nowMs - since.sentMs + Math.abs(offsetMs - since.offsetMs)
  const silentMs = Math.max(silentMsOf(evidence), quietMs)
  const waiting = earlier && earlier.sentMs >= sent.sentMs ? earlier : sent
  const queued: Queued = { name: 'queued', waiting, silentMs }
  return state.name === 'topping-up' ? { name: 'topping-up', before: queued } : queued
}

/** Returns the state after an attempt was answered "busy" by a store without a queue. */
export function afterBusy(state: ClaimState, sent: SentAttempt): Attempted {
  const evidence = evidenceOf(state)
  if (evidence.name === 'attempted') return { ...evidence, polls: evidence.polls + 1 }
  return { name: 'attempted', first: sent, polls: 1, isResent: false }
}
