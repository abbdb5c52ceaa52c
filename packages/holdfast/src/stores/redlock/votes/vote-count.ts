/** What the votes on a claim amount to, as plain functions. */
import type { NodeVote } from './node-vote.js'
import { isOpen } from './attempt-outcome.js'
import { reachedBy } from '../nodes/quorum.js'

export interface VoteCount {
  /** Until when a majority votes for the claim, on the client's clock. */
  readonly endMs: number
  /**
   * Whether an earlier attempt made the grant. Then the caller must not count from when it asked,
   * and the known end stands: quicker answers, or votes that came late, would move it.
   */
  readonly alreadyGranted: boolean
}

/**
 * Returns the token that a majority voted with: it needs no seals, since each vote is as good as
 * one. Undefined where their votes differ so far, and once the client has asked for seals. A seal
 * that comes late may change the token of a node.
 */
export function agreedToken(votes: readonly NodeVote[], quorum: number): bigint | undefined {
  if (votes.some(({ maySeal }) => maySeal)) return undefined
  for (const { state } of votes) {
    if (state.is !== 'voted') continue
    let equal = 0
    for (const vote of votes) if (vote.hasSealed(state.token)) equal += 1
    if (equal >= quorum) return state.token
  }
  return undefined
}

/** Counts the votes that have sealed the token. Undefined when they are no majority. */
export function countVotes(
  votes: readonly NodeVote[],
  token: bigint,
  quorum: number,
  startMs: number,
): VoteCount | undefined {
  const sealed = votes.flatMap((vote) =>
    vote.state.is === 'voted' && vote.hasSealed(token) ? [vote.state] : [],
  )
  const endMs = reachedBy(
    sealed.map((vote) => vote.endMs),
    quorum,
  )
  if (endMs === undefined) return undefined
  const made = sealed.filter(({ newSince }) => newSince !== undefined && newSince >= startMs).length
  return { endMs, alreadyGranted: made < quorum }
}

/**
 * Whether a majority no longer has the token of a claim that is held, though it votes for the claim
 * again. The lease has ended there, and other claims may have got larger tokens since.
 */
export function hasLapsed(votes: readonly NodeVote[], token: bigint, quorum: number): boolean {
  const voted = votes.filter(({ state }) => state.is === 'voted').length
  const possible = votes.filter(({ state }) => isOpen(state)).length
  const sealed = votes.filter((vote) => vote.hasSealed(token)).length
  return voted >= quorum && sealed + possible < quorum
}
