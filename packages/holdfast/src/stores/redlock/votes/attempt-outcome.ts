/**
 * What the states of all votes amount to, as plain functions: whether a try is decided, and which
 * refusal the caller gets.
 */
import { LockUsageError, type LockError } from '../../../errors.js'
import type { AttemptResult, Claim, Granted, LostRenewal } from '../../../store/contract.js'
import { clocksApart, noAnswer, tooLate } from '../errors.js'
import { noMajority } from '../nodes/no-majority.js'
import type { NodeVoteState } from './node-vote.js'
import { majorityOf, reachedBy } from '../nodes/quorum.js'
import { chooseToken } from './choose-token.js'

type States = readonly NodeVoteState[]

/** The states of a node that has answered. */
const ANSWERED = ['voted', 'busy', 'withdrawn'] as const

/**
 * Whether a majority has voted, or can no longer. A refusal needs a majority of answers as well:
 * with fewer it is unknown whether the lock is busy or the nodes are unreachable.
 */
export function isDecided(states: States): boolean {
  const quorum = majorityOf(states.length)
  const votes = count(states, 'voted')
  const open = states.filter(isOpen).length
  const answered = count(states, ...ANSWERED)
  if (votes >= quorum) return true
  return votes + open < quorum && (answered >= quorum || answered + open < quorum)
}

/** Whether a vote may come. A node that is still retracting an older vote is asked right after. */
export function isOpen({ is }: NodeVoteState): boolean {
  return is === 'asking' || is === 'retracting'
}

/** Returns the tokens that nodes voted with. */
export function tokensOf(states: States): bigint[] {
  return states.flatMap((state) => (state.is === 'voted' ? [state.token] : []))
}

/** Whether no majority can be reached with this claim any more. */
export function isWithdrawn(states: States): boolean {
  return count(states, 'withdrawn') > states.length - majorityOf(states.length)
}

/**
 * Returns whether another claim could have a majority where this one cannot. Some nodes refuse this
 * claim, since an attempt failed there and was withdrawn, and others are unavailable.
 */
function isInTheWay(states: States): boolean {
  return count(states, 'voted', 'withdrawn') >= majorityOf(states.length)
}

/** How a try without a grant went. */
export interface FailedTry {
  readonly claim: Claim
  readonly isHeld: boolean
  readonly nowMs: number
  /** Since the beginning of the attempt. */
  readonly elapsedMs: number
  /** The token that a majority sealed, too late. */
  readonly token: bigint | undefined
  /** How long the nodes were waited for, if that was as long as they may take. */
  readonly timedOutMs: number | undefined
  readonly maxClockDifferenceMs: number
}

/**
 * Returns what the caller gets without a grant.
 * @throws LockError when it is unknown whether the lock is busy, or when no token can be chosen
 */
export function refusalOf(states: States, failed: FailedTry): Exclude<AttemptResult, Granted> {
  const quorum = majorityOf(states.length)
  const { lock } = failed.claim
  if (count(states, 'voted') >= quorum) return sealRefusalOf(states, failed)
  for (const state of states) {
    if (state.is === 'failed' && isWrongUse(state.error)) throw state.error
  }
  // Its owner makes another claim.
  if (isWithdrawn(states) || (!failed.isHeld && isInTheWay(states))) return { outcome: 'withdrawn' }
  if (count(states, ...ANSWERED) < quorum) {
    throw noMajority('the attempt', states.length, failuresOf(states, failed.timedOutMs), lock)
  }
  return { outcome: 'busy', holderRemainingMs: freeInMs(states, failed.nowMs) }
}

/** Whether an error is about the request. A client that was closed fails like a node. */
function isWrongUse(error: LockError): boolean {
  return error instanceof LockUsageError && error.code !== 'LOCKS_CLOSED'
}

/** A majority voted, and there is no grant all the same. */
function sealRefusalOf(states: States, failed: FailedTry): Exclude<AttemptResult, Granted> {
  const { lock, ttlMs } = failed.claim
  if (failed.token !== undefined) throw tooLate('granted', lock, ttlMs, failed.elapsedMs)
  const failure = sealFailureOf(states, failed)
  if (failure) throw failure
  // Other readers chose larger tokens each time. The caller tries again.
  return { outcome: 'busy', holderRemainingMs: undefined }
}

/** Returns the loss of a claim whose votes have ended at too many nodes for a majority. */
export function lossOf(states: States): LostRenewal | undefined {
  const losses = states.flatMap((state) => (state.is === 'busy' && state.loss ? [state.loss] : []))
  if (losses.length <= states.length - majorityOf(states.length)) return undefined
  return losses.find(({ reason }) => reason === 'stolen') ?? losses[0]
}

/** Returns why no majority sealed a token. Undefined where another try may choose a larger one. */
export function sealFailureOf(
  states: States,
  {
    claim: { lock },
    timedOutMs,
    maxClockDifferenceMs,
  }: Pick<FailedTry, 'claim' | 'timedOutMs' | 'maxClockDifferenceMs'>,
): LockError | undefined {
  const quorum = majorityOf(states.length)
  const votes = tokensOf(states)
  const isLeft = votes.length >= quorum
  if (isLeft && chooseToken(votes, quorum, maxClockDifferenceMs) === undefined) {
    const byNode = states.map((state) => (state.is === 'voted' ? state.token : undefined))
    return clocksApart(lock, byNode, maxClockDifferenceMs)
  }
  const failures = failuresOf(states, timedOutMs)
  if (isLeft && failures.size === 0) return undefined
  return noMajority('the seal', states.length, failures, lock)
}

/** Returns when a majority of the nodes could be free, as far as they say. */
function freeInMs(states: States, nowMs: number): number | undefined {
  const negated = states.flatMap((state) => {
    if (state.is === 'voted') return [0]
    return state.is === 'busy' && state.untilMs !== undefined
      ? [Math.min(0, nowMs - state.untilMs)]
      : []
  })
  const soonest = reachedBy(negated, majorityOf(states.length))
  return soonest === undefined ? undefined : Math.abs(soonest)
}

function failuresOf(states: States, timedOutMs: number | undefined): Map<number, LockError> {
  const failures = new Map<number, LockError>()
  for (const [index, state] of states.entries()) {
    if (state.is === 'failed') failures.set(index, state.error)
    if (state.is === 'voted' && state.sealError) failures.set(index, state.sealError)
    // A node that was not waited for to the end has not failed.
    const isSilent = isOpen(state) || (state.is === 'voted' && state.sealing !== undefined)
    if (isSilent && timedOutMs !== undefined) failures.set(index, noAnswer(timedOutMs))
  }
  return failures
}

function count(states: States, ...kinds: readonly NodeVoteState['is'][]): number {
  return states.filter((state) => kinds.includes(state.is)).length
}
