/**
 * One try of a claim. The client asks all nodes at once; when a majority has voted, the nodes that
 * voted seal a token. A vote that comes while others seal is sealed as well. An adopter has its
 * votes before: they are only sealed.
 */
import { marginMs } from '../../../clock/margin.js'
import type { Timer } from '../../../clock/clock.js'
import type { PendingRequest } from '../../../clock/request-timeouts.js'
import type { Claim } from '../../../store/contract.js'
import type { NodeVote, NodeVoteState } from './node-vote.js'
import { quorumOf, type Panel } from '../nodes/node.js'
import { isDecided, isOpen, tokensOf } from './attempt-outcome.js'
import { chooseToken } from './choose-token.js'
import { TokenSeal } from './token-seal.js'
import { agreedToken } from './vote-count.js'

export interface RoundResult {
  /** The token that a majority sealed. */
  readonly token: bigint | undefined
  /** How long the nodes were waited for, if that was as long as they may take. */
  readonly timedOutMs: number | undefined
}

export class VoteRound {
  readonly #claim: Claim
  readonly #votes: readonly NodeVote[]
  readonly #panel: Panel
  readonly #heldToken: bigint | undefined
  readonly #endsMs: number
  #seal: TokenSeal | undefined
  #sealed: bigint | undefined
  /** The wait for the nodes: one of the panel's, or one that ends with the lease. */
  #wait: PendingRequest | undefined
  #timer: Timer | undefined
  #resolve: ((result: RoundResult) => void) | undefined

  /** @param heldToken the token of a claim that is held: it is not sealed again */
  constructor(
    claim: Claim,
    votes: readonly NodeVote[],
    panel: Panel,
    heldToken: bigint | undefined,
  ) {
    this.#claim = claim
    this.#votes = votes
    this.#panel = panel
    this.#heldToken = heldToken
    // After that nothing would be left of the lease.
    this.#endsMs = panel.clock.monotonicMs() + claim.ttlMs - marginMs(claim.ttlMs)
  }

  /** Asks all nodes. Resolves when it is decided, or when the nodes have used up their time. */
  run(): Promise<RoundResult> {
    for (const vote of this.#votes) vote.ask(this.#claim)
    return this.seal()
  }

  /** Lets the nodes that have voted seal a token. Resolves as `run` does. */
  seal(): Promise<RoundResult> {
    return new Promise((resolve) => {
      this.#resolve = resolve
      this.#startTimer()
      this.advance()
    })
  }

  /** Looks whether it is decided. Called after each answer. */
  advance(): void {
    if (this.#resolve && this.#isDecided()) this.end()
  }

  end(timedOutMs?: number): void {
    this.#stopTimer()
    this.#resolve?.({ token: this.#heldToken ?? this.#sealed, timedOutMs })
    this.#resolve = undefined
  }

  #isDecided(): boolean {
    if (this.#heldToken === undefined && this.#seal === undefined) {
      this.#sealed = agreedToken(this.#votes, quorumOf(this.#panel))
      if (this.#sealed !== undefined) return true
    }
    const states = this.#votes.map(({ state }) => state)
    if (this.#heldToken !== undefined) return this.#isHoldDecided(this.#heldToken, states)
    this.#seal ??= this.#beginSeal(states)
    if (this.#seal) return this.#isSealDecided(this.#seal)
    if (tokensOf(states).length < quorumOf(this.#panel)) return isDecided(states)
    // A further vote may be close enough to one that is there.
    return !states.some(isOpen)
  }

  /** A claim is held still where a majority has its token. */
  #isHoldDecided(token: bigint, states: readonly NodeVoteState[]): boolean {
    const quorum = quorumOf(this.#panel)
    if (this.#votes.filter((vote) => vote.hasSealed(token)).length >= quorum) return true
    return tokensOf(states).length < quorum ? isDecided(states) : !states.some(isOpen)
  }

  #beginSeal(states: readonly NodeVoteState[]): TokenSeal | undefined {
    const { maxClockDifferenceMs } = this.#panel
    const token = chooseToken(tokensOf(states), quorumOf(this.#panel), maxClockDifferenceMs)
    if (token === undefined) return undefined
    this.#startTimer()
    return new TokenSeal(this.#claim, this.#votes, this.#panel, token)
  }

  #isSealDecided(seal: TokenSeal): boolean {
    const before = seal.token
    const progress = seal.advance()
    if (progress === 'sealed') this.#sealed = seal.token
    // The nodes have their time again for each token.
    else if (seal.token !== before) this.#startTimer()
    return progress !== 'open'
  }

  #startTimer(): void {
    const { clock, nodeTimeoutMs, timeouts } = this.#panel
    const limitMs = Math.min(nodeTimeoutMs, Math.max(0, this.#endsMs - clock.monotonicMs()))
    this.#stopTimer()
    if (limitMs === nodeTimeoutMs) this.#wait = timeouts.start(() => this.end(limitMs))
    else this.#timer = clock.timer(limitMs, () => this.end(limitMs))
  }

  #stopTimer(): void {
    this.#timer?.cancel()
    if (this.#wait) this.#panel.timeouts.end(this.#wait)
    this.#timer = this.#wait = undefined
  }
}
