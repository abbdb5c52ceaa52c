/**
 * The votes on one claim, from its first attempt to its end.
 *
 * One try asks all nodes at once. A majority whose votes still last is a grant. Otherwise every
 * vote is taken back, so that two who split the votes do not keep each other out; when nobody has
 * the majority, the try is repeated after a random pause. A vote that comes after its try has ended
 * is taken back, too.
 *
 * Source: the Redlock algorithm (redis.io, "Distributed Locks with Redis"), with the elapsed time
 * on the monotonic clock.
 */
import { settlesWithin } from '../../clock/with-timeout.js'
import { LockUsageError } from '../../errors.js'
import type { AttemptResult, Claim, Granted } from '../../store/contract.js'
import { lookAt } from './look.js'
import { quorumOf, type Panel } from './node.js'
import { NodeVote, type NodeVoteState } from './node-vote.js'
import { driftMs, reachedBy } from './quorum.js'
import { isBuried, isDecided, refusalOf } from './outcome.js'

/**
 * How often votes that were split are tried for again in one attempt. After that it is the caller
 * who comes back.
 */
const ROUNDS = 8
/**
 * The pause before the next try is random, up to this times two to the number of tries, in
 * milliseconds.
 */
const PAUSE_MS = 4
const LONGEST_PAUSE_MS = 64

export class ClaimVote {
  /** As it was attempted last, or as it is since its downgrade. */
  claim: Claim
  /**
   * A majority was found, and the caller was told. From then on no vote is taken back before the
   * withdrawal.
   */
  held = false
  /**
   * When the lease ends on our clock: as the caller was told, and as renewals have moved it since.
   */
  #endMs = Infinity
  readonly #panel: Panel
  readonly #votes: readonly NodeVote[]
  readonly #onOver: () => void
  /** Attempts of one claim go one after the other, or one would take back what the other counts. */
  #last: Promise<unknown> = Promise.resolve()
  #attempts = 0
  #trying = false
  #withdrawn = false
  /** Nodes that may not have heard of its downgrade, and keep readers out until they have. */
  #unacknowledged: Set<number> = new Set()
  #onChange: (() => void) | undefined

  /** @param onOver called when nothing of it is left: it can be forgotten */
  constructor(claim: Claim, panel: Panel, onOver: () => void) {
    this.claim = claim
    this.#panel = panel
    this.#onOver = onOver
    this.#votes = panel.nodes.map(
      (node) => new NodeVote(node, panel, (vote) => this.#changed(vote)),
    )
  }

  /** Whether nothing of it is left anywhere, nor on its way. */
  get over(): boolean {
    return this.#attempts === 0 && !this.held && !this.#votes.some(({ isOpen }) => isOpen)
  }

  attempt(claim: Claim): Promise<AttemptResult> {
    this.#attempts += 1
    const answer = this.#last
      .then(() => this.#attempt(claim))
      .finally(() => {
        this.#attempts -= 1
        if (this.over) this.#onOver()
      })
    this.#last = answer.catch(() => undefined)
    return answer
  }

  /**
   * Ends the vote, because the claim is withdrawn from all nodes. Returns the nodes whose votes the
   * lease rests on, or undefined if the claim was not granted. A vote that is still being asked
   * for, from a node that lost its data, is not among them: it may begin after the lease has ended.
   */
  withdraw(): ReadonlySet<number> | undefined {
    const votes = this.held ? this.#voters() : undefined
    this.#withdrawn = true
    this.held = false
    this.#onChange?.()
    return votes
  }

  #voters(): ReadonlySet<number> {
    return new Set(this.#votes.flatMap(({ hasVoted }, node) => (hasVoted ? [node] : [])))
  }

  /** Asks a node again that has lost its vote, for a claim that holds the majority. */
  restoreVote(index: number): void {
    if (this.held) this.#votes[index]?.askAnew(this.claim)
  }

  /** A majority has renewed the lease. From here on it ends at `endMs` of our clock. */
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

  /** Tells a node again of the downgrade that it may have missed. */
  async resendDowngrade(index: number): Promise<void> {
    const node = this.#panel.nodes[index]
    if (!node || !this.held || !this.#unacknowledged.has(index)) return
    try {
      await node.store.downgrade(this.claim)
      this.#unacknowledged.delete(index)
    } catch {
      // There will be another renewal.
    }
  }

  async #attempt(claim: Claim): Promise<AttemptResult> {
    const startMs = this.#panel.clock.monotonicMs()
    if (!this.held) this.claim = claim
    for (let round = 1; ; round += 1) {
      // The nodes do not remember every withdrawal for long of which they were told that nothing
      // comes after it.
      if (this.#withdrawn) return { outcome: 'withdrawn' }
      const timedOutMs = await this.#try()
      // Only here: a vote that came since the try was decided counts as well.
      this.#trying = false
      if (this.#withdrawn) return { outcome: 'withdrawn' }
      const granted = this.#grant(startMs)
      if (granted) return granted
      const states = this.#states
      // Whoever is told that the lease has ended does not withdraw it.
      if (isBuried(states)) this.held = false
      // Of a claim that is held already each vote counts, whoever has not answered this time.
      const hadVotes = !this.held && (await this.#takeBack())
      const nowMs = this.#panel.clock.monotonicMs()
      const elapsedMs = nowMs - startMs
      const refusal = refusalOf(states, { claim, nowMs, elapsedMs, timedOutMs })
      const again =
        hadVotes && refusal.outcome === 'busy' && round < ROUNDS && elapsedMs < claim.ttlMs / 4
      if (!again || (await this.#isHeldByAnother())) return refusal
      await this.#pause(round)
    }
  }

  get #states(): readonly NodeVoteState[] {
    return this.#votes.map(({ state }) => state)
  }

  /** How long a try waits for its votes: after that nothing would be left of the lease. */
  get #limitMs(): number {
    const { ttlMs } = this.claim
    return Math.min(this.#panel.nodeTimeoutMs, ttlMs - driftMs(ttlMs))
  }

  /**
   * Asks all nodes and waits until it is decided. Gives how long that was, if it was as long as it
   * may be.
   */
  #try(): Promise<number | undefined> {
    const { clock } = this.#panel
    this.#trying = true
    for (const vote of this.#votes) vote.ask(this.claim)
    return new Promise((resolve) => {
      const end = (timedOutMs?: number): void => {
        timer.cancel()
        this.#onChange = undefined
        resolve(timedOutMs)
      }
      const limitMs = this.#limitMs
      const timer = clock.timer(limitMs, () => end(limitMs))
      this.#onChange = () => {
        if (this.#withdrawn || isDecided(this.#states)) end()
      }
      this.#onChange()
    })
  }

  /** The grant, if a majority gives it and it still lasts. */
  #grant(startMs: number): Granted | undefined {
    const { clock } = this.#panel
    const quorum = quorumOf(this.#panel)
    const { ttlMs } = this.claim
    const votes = this.#votes.flatMap(({ state }) => (state.is === 'voted' ? [state] : []))
    const reachedMs = reachedBy(
      votes.map((vote) => vote.endMs),
      quorum,
    )
    const nowMs = clock.monotonicMs()
    if (reachedMs === undefined) return undefined
    // New only if this very attempt made it: else the caller must not count from when it asked, and
    // the end that it was told stands, though answers that came quicker now, or votes that came
    // late, would let it seem later.
    const made = votes.filter(
      ({ newSince }) => newSince !== undefined && newSince >= startMs,
    ).length
    const alreadyGranted = made < quorum
    const endMs = alreadyGranted ? Math.min(reachedMs, this.#endMs) : reachedMs
    if (endMs - driftMs(ttlMs) <= nowMs) return undefined
    // An old vote may still be among those that were heard now, and says less than was proven: it
    // is passed on, not kept.
    if (!alreadyGranted || !this.held) this.#endMs = endMs
    this.held = true
    return {
      outcome: 'granted',
      token: undefined,
      tokens: 1,
      ttlMs,
      alreadyGranted,
      remainingMs: endMs - nowMs,
    }
  }

  /**
   * Takes back what was voted, and says whether there was any. Does not wait for a slow node for
   * long.
   */
  async #takeBack(): Promise<boolean> {
    const voted = this.#votes.filter(({ state }) => state.is === 'voted')
    if (voted.length === 0) return false
    const { clock, nodeTimeoutMs } = this.#panel
    const gone = Promise.all(voted.map((vote) => vote.retract(this.claim)))
    await settlesWithin(gone, nodeTimeoutMs, { clock })
    return true
  }

  async #isHeldByAnother(): Promise<boolean> {
    try {
      const info = await lookAt(this.#panel, this.claim.lock)
      return info !== undefined && info.holders.some(({ claimId }) => claimId !== this.claim.id)
    } catch {
      // Too few nodes can be asked: whoever comes back later will see.
      return true
    }
  }

  #pause(round: number): Promise<void> {
    const { clock, random } = this.#panel
    const delayMs = random.next() * Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** round)
    return new Promise((resolve) => void clock.timer(delayMs, resolve))
  }

  #changed(vote: NodeVote): void {
    // A lease that is held, or is being withdrawn, ends with a withdrawal from all nodes in any
    // case.
    if (!this.held && !this.#withdrawn) this.#tidy(vote)
    // What was left of the try before this one is gone from there now, and nothing can overtake the
    // new question.
    if (this.#trying && !this.#withdrawn && vote.state.is === 'idle') vote.ask(this.claim)
    this.#onChange?.()
    if (this.over) this.#onOver()
  }

  #tidy(vote: NodeVote): void {
    const { state } = vote
    if (state.is === 'voted' && !this.#trying) void vote.retract(this.claim)
    // Wrong use was refused before anything was done.
    if (state.is === 'failed' && !(state.error instanceof LockUsageError))
      vote.withdrawLater(this.claim)
  }
}
