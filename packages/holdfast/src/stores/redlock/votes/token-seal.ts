/**
 * The second phase of a grant: a majority of the nodes seals one token for the claim.
 *
 * A node seals a token on two conditions. The claim still has its vote there, and the token is
 * larger than every token of the lock there. The claim's own vote counts as sealed: the node gave
 * that token to no other claim. A refusal names the node's last token; the claim then takes a
 * larger one, and all nodes seal that.
 *
 * Two majorities share a node, which gives each token to one claim: so tokens are unique. A node
 * that sealed a token votes above it: so they grow. `verification/model/redlock-token.pml` checks
 * both for three nodes.
 */
import type { Claim } from '../../../store/contract.js'
import { quorumOf, type Panel } from '../nodes/node.js'
import type { NodeVote } from './node-vote.js'
import { microsOf, raiseAbove } from './choose-token.js'

/** How often one attempt raises its token. Only readers that ask at the same moment need it. */
const MOST_RAISES = 32

export type SealProgress = 'open' | 'sealed' | 'failed'

export class TokenSeal {
  readonly #claim: Claim
  readonly #votes: readonly NodeVote[]
  readonly #panel: Panel
  /** The token may be raised up to here. */
  readonly #highest: bigint
  #token: bigint
  #raises = 0

  constructor(claim: Claim, votes: readonly NodeVote[], panel: Panel, token: bigint) {
    this.#claim = claim
    this.#votes = votes
    this.#panel = panel
    this.#token = token
    this.#highest = token + microsOf(panel.maxClockDifferenceMs)
  }

  get token(): bigint {
    return this.#token
  }

  /** Sends the seals that can be sent, and returns how far it is. Called after each answer. */
  advance(): SealProgress {
    const quorum = quorumOf(this.#panel)
    for (;;) {
      for (const vote of this.#votes) vote.seal(this.#claim, this.#token)
      const sealed = this.#votes.filter((vote) => vote.hasSealed(this.#token)).length
      if (sealed >= quorum) return 'sealed'
      const inFlight = this.#votes.filter((vote) => vote.isSealing(this.#token)).length
      if (sealed + inFlight >= quorum) return 'open'
      if (!this.#raise(quorum)) return this.#isAnyVoteOpen ? 'open' : 'failed'
    }
  }

  /** Returns false where a larger token does not help. */
  #raise(quorum: number): boolean {
    const voted = this.#votes.flatMap(({ lastToken }) => lastToken ?? [])
    const usable = voted.filter((token) => token <= this.#highest)
    const isBehind = this.#votes.some(
      (vote) => vote.refusesToSeal(this.#token) && (vote.lastToken as bigint) <= this.#highest,
    )
    if (!isBehind || usable.length < quorum || this.#raises === MOST_RAISES) return false
    const random = this.#panel.random.next()
    const token = raiseAbove([...usable, this.#token], this.#raises, random)
    if (token > this.#highest) return false
    this.#token = token
    this.#raises += 1
    return true
  }

  get #isAnyVoteOpen(): boolean {
    return this.#votes.some(({ isAwaited }) => isAwaited)
  }
}
