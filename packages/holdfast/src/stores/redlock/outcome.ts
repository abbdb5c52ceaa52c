/**
 * What the states of all seats amount to, as plain functions: whether it is decided, and how a
 * refusal reads.
 */
import { LockUsageError, type LockError } from '../../errors.js'
import type { AttemptResult, Claim, Granted } from '../../store/contract.js'
import { noMajority, silent, tooLate } from './errors.js'
import type { NodeVoteState } from './node-vote.js'
import { majorityOf, reachedBy } from './quorum.js'

type States = readonly NodeVoteState[]

/** The node has answered. */
const HEARD = ['voted', 'busy', 'buried'] as const

/**
 * Also for a refusal a majority has to speak: until then nobody knows whether it is busy or cannot
 * be reached.
 */
export function isDecided(states: States): boolean {
  const quorum = majorityOf(states.length)
  const votes = count(states, 'voted')
  // A node that is still taking back an older vote is asked as soon as it has.
  const open = count(states, 'asking', 'retracting')
  const heard = count(states, ...HEARD)
  if (votes >= quorum) return true
  return votes + open < quorum && (heard >= quorum || heard + open < quorum)
}

/** Whether no majority can be reached with this claim any more. */
export function isBuried(states: States): boolean {
  return count(states, 'buried') > states.length - majorityOf(states.length)
}

/** How a try without a grant went. */
export interface Try {
  readonly claim: Claim
  readonly nowMs: number
  /** Since the beginning of the attempt. */
  readonly elapsedMs: number
  /** How long the nodes were waited for, if that was as long as it may be. */
  readonly timedOutMs: number | undefined
}

/** What to answer when there is no grant. Throws when it is not known who has the lock. */
export function refusalOf(states: States, failed: Try): Exclude<AttemptResult, Granted> {
  const quorum = majorityOf(states.length)
  const { lock, ttlMs } = failed.claim
  if (count(states, 'voted') >= quorum) throw tooLate('granted', lock, ttlMs, failed.elapsedMs)
  for (const state of states) {
    if (state.is === 'failed' && state.error instanceof LockUsageError) throw state.error
  }
  // Its owner makes a new one.
  if (isBuried(states)) return { outcome: 'withdrawn' }
  if (count(states, ...HEARD) < quorum) {
    throw noMajority('the attempt', states.length, failuresOf(states, failed.timedOutMs), lock)
  }
  return { outcome: 'busy', holderRemainingMs: freeInMs(states, failed.nowMs) }
}

/** When a majority of the nodes could be free, as far as they say. */
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
    // A node that was not waited for to the end has not failed.
    const isOpen = state.is === 'asking' || state.is === 'retracting'
    if (isOpen && timedOutMs !== undefined) failures.set(index, silent(timedOutMs))
  }
  return failures
}

function count(states: States, ...kinds: readonly NodeVoteState['is'][]): number {
  return states.filter((state) => kinds.includes(state.is)).length
}
