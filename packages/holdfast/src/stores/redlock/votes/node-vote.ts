/**
 * One node's vote on one claim: asked for, given, adopted, sealed, refused, retracted.
 *
 * The danger is a request that overtakes another: a message that was sent before a vote must not
 * undo a vote that is counted. So each vote has one request in flight at a time, and is not counted
 * while an older one is in flight. Only seals travel beside others: they neither make nor undo a
 * vote.
 */
import type { LockError } from '../../../errors.js'
import type {
  Adoption,
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  LostRenewal,
} from '../../../store/contract.js'
import type { SealResult } from '../../redis/wire/redlock-seal.js'
import { asLockError, withdrawalPending } from '../errors.js'
import type { Node, Panel, VoteAdoption } from '../nodes/node.js'
import type { AnswerListener } from '../../../store/pending-answer.js'
import { microsOf } from './choose-token.js'

export interface Voted {
  readonly is: 'voted'
  /** The node grants the claim until this time of the client's clock at least. */
  readonly endMs: number
  /** When the request left that made the grant. Undefined for an older grant. */
  readonly newSince: number | undefined
  /** The claim's token at the node: the node voted with it, or sealed it. */
  readonly token: bigint
  /** The token whose seal is in flight. */
  readonly sealing?: bigint | undefined
  /** The node's last token when it refused a seal. */
  readonly refusedAt?: bigint | undefined
  /** Why it is not known whether the node sealed. */
  readonly sealError?: LockError
}

export type NodeVoteState =
  | { readonly is: 'idle' }
  /** `voted`: the node had voted before this request, as far as the client knows. */
  | { readonly is: 'asking'; readonly voted: boolean }
  | Voted
  /** `loss`: the node had voted, and its vote has ended. */
  | { readonly is: 'busy'; readonly untilMs: number | undefined; readonly loss?: LostRenewal }
  | { readonly is: 'retracting' }
  /** The node refuses the claim for good. */
  | { readonly is: 'withdrawn' }
  | { readonly is: 'failed'; readonly error: LockError }

const ASKING: NodeVoteState = { is: 'asking', voted: false }
const ASKING_AGAIN: NodeVoteState = { is: 'asking', voted: true }
const IDLE: NodeVoteState = { is: 'idle' }
const TRY: AttemptOptions = { enqueue: false, tokens: 1 }

/** It hears the answers to its attempts. */
export class NodeVote implements AnswerListener<AttemptResult> {
  state: NodeVoteState = IDLE
  readonly #node: Node
  readonly #panel: Panel
  readonly #changed: (vote: NodeVote) => void
  #openAdoptions = 0
  /** Whether a seal may change the token of the claim there, now or later. */
  maySeal = false
  /** When the attempt left that is in flight. */
  #sentMs = 0

  /** @param changed called when an answer came */
  constructor(node: Node, panel: Panel, changed: (vote: NodeVote) => void) {
    this.#node = node
    this.#panel = panel
    this.#changed = changed
  }

  /** Whether an answer is on its way that may bring a vote. */
  get isAwaited(): boolean {
    return this.#openAdoptions > 0 || this.state.is === 'asking' || this.state.is === 'retracting'
  }

  /** Whether there is a vote, or may soon be. */
  get isOpen(): boolean {
    return this.state.is === 'asking' || this.state.is === 'voted' || this.state.is === 'retracting'
  }

  /** Whether the node gives its vote, as far as the client knows. */
  get hasVoted(): boolean {
    return this.state.is === 'voted' || (this.state.is === 'asking' && this.state.voted)
  }

  /** The largest token that the node is known to have given. Undefined where it did not vote. */
  get lastToken(): bigint | undefined {
    if (this.state.is !== 'voted') return undefined
    const { token, refusedAt = token } = this.state
    return refusedAt > token ? refusedAt : token
  }

  /** Asks for a vote that the node has lost. */
  askAgain(claim: Claim): void {
    if (this.state.is === 'voted') this.state = IDLE
    this.ask(claim)
  }

  /** Asks for the vote, unless an older request is in flight: its answer is as good. */
  ask(claim: Claim): void {
    if (this.state.is === 'asking' || this.state.is === 'retracting') return
    if (this.#node.withdrawals.has(claim.id)) {
      // A withdrawal of this claim may still arrive there, and would undo the vote.
      if (this.state.is !== 'failed') this.state = { is: 'failed', error: withdrawalPending() }
      return
    }
    this.state = this.hasVoted ? ASKING_AGAIN : ASKING
    this.#sentMs = this.#panel.clock.monotonicMs()
    this.#node.requests.ask(() => this.#node.store.attempt(claim, TRY), this)
  }

  answered(result: AttemptResult): void {
    this.#become(this.#read(result, this.#sentMs))
  }

  failed(error: unknown): void {
    this.#become({ is: 'failed', error: asLockError(error) })
  }

  /**
   * Takes over the vote of another claim. The request may be in flight several times: it is
   * answered alike each time, and never ends a vote of this claim.
   */
  async adopt(adoption: Adoption): Promise<VoteAdoption> {
    const { store, withdrawals } = this.#node
    const { id } = adoption.to
    const { state: before } = this
    const wasPending = withdrawals.has(id)
    const sentMs = this.#panel.clock.monotonicMs()
    this.#openAdoptions += 1
    try {
      const result = await this.#node.requests.send(() => store.adoptVote(adoption))
      const isGranted = result.outcome === 'granted'
      // A withdrawal in flight will end the vote, or may have ended it since the node answered.
      if (isGranted && (wasPending || withdrawals.has(id))) throw withdrawalPending()
      // What came since this request left is newer: a repeated one may be answered after a seal.
      if (this.state === before || (isGranted && this.state.is !== 'voted'))
        this.state = this.#readAdoption(result, sentMs)
      return result
    } finally {
      this.#openAdoptions -= 1
      this.#changed(this)
    }
  }

  #readAdoption(result: VoteAdoption, sentMs: number): NodeVoteState {
    if (result.outcome === 'granted') return this.#read(result, sentMs)
    if (result.outcome === 'adopted') return IDLE
    return { is: 'busy', untilMs: undefined, loss: result }
  }

  /** Retracts a vote. Resolves when it is gone, or when its withdrawal is pending. */
  async retract(claim: Claim): Promise<void> {
    this.state = { is: 'retracting' }
    try {
      await this.#node.requests.send(() => this.#node.store.retract(claim))
      this.#become(IDLE)
    } catch (error) {
      // The retraction may still arrive, and would end a vote that is counted.
      this.withdrawLater(claim)
      this.#become({ is: 'failed', error: asLockError(error) })
    }
  }

  /**
   * Withdraws the claim until the node confirms it. After a failure the node may have a vote that
   * the client does not know of, or may get one.
   */
  withdrawLater(claim: ClaimRef): void {
    this.#node.withdrawals.add(claim)
  }

  /** Sends a seal, where the node voted and can take the token. */
  seal(claim: Claim, token: bigint): void {
    const { state } = this
    if (state.is !== 'voted' || state.sealError || state.sealing === token) return
    if (this.refusesToSeal(token) || state.token === token) return
    // It would push the node's tokens far ahead of its clock.
    if (token - state.token > microsOf(this.#panel.maxClockDifferenceMs)) return
    this.state = { ...state, sealing: token }
    this.maySeal = true
    this.#node.requests.ask(() => this.#node.store.seal(claim, token), {
      answered: (result: SealResult) => this.#onSeal(token, result),
      failed: (error) => this.#onSeal(token, { outcome: 'failed', error: asLockError(error) }),
    })
  }

  hasSealed(token: bigint): boolean {
    return this.state.is === 'voted' && this.state.token === token
  }

  isSealing(token: bigint): boolean {
    return this.state.is === 'voted' && this.state.sealing === token
  }

  /** Whether the node has given this token, or a larger one, and not to this claim. */
  refusesToSeal(token: bigint): boolean {
    if (this.state.is !== 'voted' || this.state.token === token) return false
    return (this.lastToken as bigint) >= token
  }

  #read(result: AttemptResult, sentMs: number): NodeVoteState {
    if (result.outcome === 'withdrawn') return { is: 'withdrawn' }
    if (result.outcome === 'granted') {
      // The remaining time began after the request left: counted from there it is never too long.
      const endMs = sentMs + result.remainingMs
      const newSince = result.alreadyGranted ? undefined : sentMs
      return { is: 'voted', endMs, newSince, token: result.token }
    }
    const { holderRemainingMs } = result
    if (holderRemainingMs === undefined) return { is: 'busy', untilMs: undefined }
    return { is: 'busy', untilMs: this.#panel.clock.monotonicMs() + holderRemainingMs }
  }

  #onSeal(token: bigint, result: SealResult | { outcome: 'failed'; error: LockError }): void {
    const { state } = this
    // The vote was retracted or asked for again since, or another token is being sealed.
    if (state.is !== 'voted' || state.sealing !== token) return
    const answered = { ...state, sealing: undefined }
    switch (result.outcome) {
      case 'sealed':
        this.#become({ ...answered, token })
        return
      case 'behind':
        this.#become({ ...answered, refusedAt: result.lastToken })
        return
      case 'lost':
        // Nothing is left to retract.
        this.#become({ is: 'busy', untilMs: undefined, loss: result })
        return
      case 'failed':
        this.#become({ ...answered, sealError: result.error })
    }
  }

  #become(state: NodeVoteState): void {
    this.state = state
    this.#changed(this)
  }
}
