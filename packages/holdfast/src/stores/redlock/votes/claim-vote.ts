/**
 * The votes on one claim, from its first attempt to its end.
 *
 * One try asks all nodes at once. A majority that seals a token while its votes last is a grant.
 * Otherwise the client retracts every vote, so that two claims that split the votes do not keep
 * each other out. When no claim has the majority, the client tries again after a random pause. A
 * vote that comes after its try has ended is retracted, too.
 *
 * Source: the Redlock algorithm (redis.io, "Distributed Locks with Redis"), with the elapsed time
 * on the monotonic clock, and with tokens (`token-seal.ts`).
 */
import { marginMs } from '../../../clock/margin.js'
import { settlesWithin } from '../../../clock/settles-within.js'
import { LockUsageError, type LockError } from '../../../errors.js'
import type {
  Adoption,
  AdoptResult,
  AttemptResult,
  Claim,
  Granted,
  LostRenewal,
} from '../../../store/contract.js'
import { AdoptionRound, LOST } from './adoption-round.js'
import { tooLate } from '../errors.js'
import { noMajority } from '../nodes/no-majority.js'
import { inspectLocks } from './inspect.js'
import { quorumOf, type Panel } from '../nodes/node.js'
import { NodeVote, type NodeVoteState } from './node-vote.js'
import { isWithdrawn, lossOf, refusalOf, sealFailureOf } from './attempt-outcome.js'
import { countVotes, hasLapsed } from './vote-count.js'
import { VoteRound, type RoundResult } from './vote-round.js'

/** How many tries one attempt makes when votes are split. After that the caller tries again. */
const ROUNDS = 8
/** The pause before the next try is random, up to this times 2^tries, in milliseconds. */
const PAUSE_MS = 4
const LONGEST_PAUSE_MS = 64

export class ClaimVote {
  /** As it was attempted last, or as it is since its downgrade. */
  claim: Claim
  /** The token of the grant. It stays the claim's token for good. */
  #token: bigint | undefined
  /** The caller has the grant. From then on no vote is retracted before the withdrawal. */
  #held = false
  /** The nodes whose votes the lease rested on when it was withdrawn. */
  #restedOn: ReadonlySet<number> | undefined
  /** When the lease ends on the client's clock: as the caller knows it, moved by renewals since. */
  #endMs = Infinity
  readonly #panel: Panel
  readonly #votes: readonly NodeVote[]
  readonly #onOver: () => void
  /** Attempts of one claim run one after the other, or one would retract what the other counts. */
  #last: Promise<unknown> = Promise.resolve()
  #attempts = 0
  #round: VoteRound | undefined
  #withdrawn = false
  #adopts = false
  /** Nodes that may not have heard of its downgrade, and keep readers out until they have. */
  #unacknowledged: Set<number> | undefined

  /** @param onOver called when nothing of it is left: it can be forgotten */
  constructor(claim: Claim, panel: Panel, onOver: () => void) {
    this.claim = claim
    this.#panel = panel
    this.#onOver = onOver
    const changed = this.#changed.bind(this)
    this.#votes = panel.nodes.map((node) => new NodeVote(node, panel, changed))
  }

  /** The token of the grant, while the claim is held. */
  get token(): bigint | undefined {
    return this.#held ? this.#token : undefined
  }

  /** Whether it may have the votes of another claim at all nodes, though none has answered. */
  get adopts(): boolean {
    return this.#adopts
  }

  /** Whether nothing of it is left on any node, nor in flight. */
  get over(): boolean {
    return this.#attempts === 0 && !this.#held && !this.#votes.some(({ isOpen }) => isOpen)
  }

  attempt(claim: Claim): Promise<AttemptResult> {
    return this.#inTurn(() => this.#attempt(claim))
  }

  /** Takes over the votes of another claim. It keeps them between tries. */
  adopt(adoption: Adoption): Promise<AdoptResult> {
    this.#adopts = true
    return this.#inTurn(() => this.#adopt(adoption))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.#attempts += 1
    const answer = this.#attempts === 1 ? work() : this.#last.then(work)
    const noteEnd = (): void => {
      this.#attempts -= 1
      if (this.over) this.#onOver()
    }
    this.#last = answer.then(noteEnd, noteEnd)
    return answer
  }

  /**
   * Ends the vote, because the claim is withdrawn from all nodes. Returns the nodes whose votes the
   * lease rests on, or undefined if the claim was not granted. A node that lost its data and is
   * asked for its vote is not among them: that vote may begin after the lease has ended. A repeated
   * withdrawal gets the same nodes.
   */
  withdraw(): ReadonlySet<number> | undefined {
    if (this.#held) this.#restedOn = this.#voters()
    this.#withdrawn = true
    this.#held = false
    this.#round?.end()
    return this.#restedOn
  }

  #voters(): ReadonlySet<number> {
    return new Set(this.#votes.flatMap(({ hasVoted }, node) => (hasVoted ? [node] : [])))
  }

  /** Asks a node again that lost its vote for a held claim. It seals the token again. */
  restoreVote(index: number): void {
    if (this.#held) this.#votes[index]?.askAgain(this.claim)
  }

  /** A majority has renewed the lease. It ends at `endMs` of the client's clock now. */
  renewed(endMs: number): void {
    this.#endMs = endMs
  }

  /**
   * @param unacknowledged the nodes that have not confirmed it; those that still do are taken out
   */
  downgraded(unacknowledged: Set<number>): void {
    this.claim = { ...this.claim, weight: 1 }
    this.#unacknowledged = unacknowledged
  }

  /** Sends a node the downgrade again that it may have missed. */
  async resendDowngrade(index: number): Promise<void> {
    const node = this.#panel.nodes[index]
    if (!node || !this.#held || this.#unacknowledged?.has(index) !== true) return
    try {
      await node.store.downgrade(this.claim)
      this.#unacknowledged?.delete(index)
    } catch {
      // There will be another renewal.
    }
  }

  async #adopt(adoption: Adoption): Promise<AdoptResult> {
    const { kind, weight } = this.claim
    const startMs = this.#panel.clock.monotonicMs()
    const round = new AdoptionRound(adoption, this.#votes, this.#panel)
    const loss = await round.run()
    if (loss || this.#withdrawn) return this.#refuse(loss ?? LOST)
    // A detached lease keeps its token, which all these nodes have. An adopter gets a larger one.
    const { token, timedOutMs } = adoption.detached
      ? { token: adoption.token, timedOutMs: undefined }
      : await this.#seal()
    const ended = this.#withdrawn ? LOST : lossOf(this.#states)
    if (ended) return this.#refuse(ended)
    const granted = this.#grant(startMs, token)
    if (!granted) throw this.#notPassedOn(startMs, token, timedOutMs)
    round.withdrawOld()
    // A reader may have been a writer, and a node may have missed the downgrade.
    if (kind === 'readWriteLock' && weight === 1) this.downgraded(new Set(this.#votes.keys()))
    return granted
  }

  /** An adopter that is refused returns what it has taken. */
  #refuse(loss: LostRenewal): LostRenewal {
    this.withdraw()
    for (const vote of this.#votes) vote.withdrawLater(this.claim)
    return loss
  }

  /** The nodes that have voted seal a token. */
  async #seal(): Promise<RoundResult> {
    const round = new VoteRound(this.claim, this.#votes, this.#panel, this.token)
    this.#round = round
    const result = await round.seal()
    this.#round = undefined
    return result
  }

  /** A majority passed the lease on, and its token was not sealed, or too late. */
  #notPassedOn(
    startMs: number,
    token: bigint | undefined,
    timedOutMs: number | undefined,
  ): LockError {
    const { claim } = this
    const { lock, ttlMs } = claim
    const { clock, nodes, maxClockDifferenceMs } = this.#panel
    const elapsedMs = clock.monotonicMs() - startMs
    // The nodes seal nothing for a lease that has ended there.
    const isOver = elapsedMs >= ttlMs - marginMs(ttlMs)
    if (token !== undefined || isOver) return tooLate('passed on', lock, ttlMs, elapsedMs)
    return (
      sealFailureOf(this.#states, { claim, timedOutMs, maxClockDifferenceMs }) ??
      noMajority('the seal', nodes.length, new Map(), lock)
    )
  }

  async #attempt(claim: Claim): Promise<AttemptResult> {
    const startMs = this.#panel.clock.monotonicMs()
    if (!this.#held) this.claim = claim
    for (let tries = 1; ; tries += 1) {
      // The nodes may forget a withdrawal soon when no attempt was in flight.
      if (this.#withdrawn) return { outcome: 'withdrawn' }
      const round = new VoteRound(this.claim, this.#votes, this.#panel, this.token)
      this.#round = round
      const { token, timedOutMs } = await round.run()
      // Only here: a vote that came since the try was decided counts as well.
      this.#round = undefined
      if (this.#withdrawn) return { outcome: 'withdrawn' }
      if (this.#hasLapsed()) {
        this.#held = false
        await this.#retract()
        return { outcome: 'withdrawn' }
      }
      const granted = this.#grant(startMs, token)
      if (granted) return granted
      const states = this.#states
      // A caller that learns that the lease has ended does not withdraw it.
      if (isWithdrawn(states)) this.#held = false
      // The votes of a claim that is held count, even those of nodes that did not answer this time.
      const hadVotes = !this.#held && (await this.#retract())
      const nowMs = this.#panel.clock.monotonicMs()
      const elapsedMs = nowMs - startMs
      const { maxClockDifferenceMs } = this.#panel
      const failed = {
        claim,
        isHeld: this.#held,
        nowMs,
        elapsedMs,
        token: this.#held ? undefined : token,
        timedOutMs,
        maxClockDifferenceMs,
      }
      const refusal = refusalOf(states, failed)
      const again =
        hadVotes && refusal.outcome === 'busy' && tries < ROUNDS && elapsedMs < claim.ttlMs / 4
      if (!again || (await this.#isHeldByAnother())) return refusal
      await this.#pause(tries)
    }
  }

  get #states(): readonly NodeVoteState[] {
    return this.#votes.map(({ state }) => state)
  }

  #hasLapsed(): boolean {
    const token = this.token
    return token !== undefined && hasLapsed(this.#votes, token, quorumOf(this.#panel))
  }

  /** Returns the grant, if a majority gives it and it still lasts. */
  #grant(startMs: number, token: bigint | undefined): Granted | undefined {
    if (token === undefined) return undefined
    const count = countVotes(this.#votes, token, quorumOf(this.#panel), startMs)
    if (!count) return undefined
    const { alreadyGranted } = count
    const { ttlMs } = this.claim
    const nowMs = this.#panel.clock.monotonicMs()
    const endMs = alreadyGranted ? Math.min(count.endMs, this.#endMs) : count.endMs
    if (endMs - marginMs(ttlMs) <= nowMs) return undefined
    // An old vote may be among those that answered now, and prove less than is known: its end is
    // returned, not kept.
    if (!alreadyGranted || !this.#held) this.#endMs = endMs
    if (this.#held && token !== this.#token) {
      throw new Error(`The token of "${this.claim.lock}" changed from ${this.#token} to ${token}`)
    }
    this.#token = token
    this.#held = true
    return {
      outcome: 'granted',
      token,
      tokens: 1,
      ttlMs,
      alreadyGranted,
      remainingMs: endMs - nowMs,
    }
  }

  /** Retracts the votes, and returns whether there were any. Does not wait long for a slow node. */
  async #retract(): Promise<boolean> {
    const voted = this.#votes.filter(({ state }) => state.is === 'voted')
    if (voted.length === 0) return false
    const { clock, nodeTimeoutMs } = this.#panel
    const gone = Promise.all(voted.map((vote) => vote.retract(this.claim)))
    await settlesWithin(gone, nodeTimeoutMs, { clock })
    return true
  }

  async #isHeldByAnother(): Promise<boolean> {
    try {
      const [info] = await inspectLocks(this.#panel, [this.claim.lock])
      return info !== undefined && info.holders.some(({ claimId }) => claimId !== this.claim.id)
    } catch {
      // Too few nodes answer: the next attempt will see.
      return true
    }
  }

  #pause(round: number): Promise<void> {
    const { clock, random } = this.#panel
    const delayMs = random.next() * Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** round)
    return new Promise((resolve) => void clock.timer(delayMs, resolve))
  }

  #changed(vote: NodeVote): void {
    // A lease that is held, or is being withdrawn, ends with a withdrawal from all nodes anyway. So
    // does an adoption that fails.
    if (!this.#held && !this.#withdrawn && !this.#adopts) this.#tidy(vote)
    // The vote of an earlier try is gone from there now, and nothing can overtake the next request.
    const asks = this.#round !== undefined && !this.#withdrawn && !this.#adopts
    if (asks && vote.state.is === 'idle') vote.ask(this.claim)
    // A vote that came late, or again after the node had lost its data.
    if (this.token !== undefined) vote.seal(this.claim, this.token)
    this.#round?.advance()
    if (this.over) this.#onOver()
  }

  #tidy(vote: NodeVote): void {
    const { state } = vote
    if (state.is === 'voted' && !this.#round) void vote.retract(this.claim)
    // Wrong use was refused before anything was done.
    if (state.is === 'failed' && !(state.error instanceof LockUsageError))
      vote.withdrawLater(this.claim)
  }
}
