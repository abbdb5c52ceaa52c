/**
 * One node's vote on one claim: asked for, given, refused, taken back.
 *
 * The danger is a request that overtakes another: a vote that is counted must not be undone by a
 * message that was sent before it. So each vote has one request in flight at a time, and is not
 * counted while an older request is in flight.
 */
import type { LockError } from '../../errors.js'
import type { AttemptResult, Claim } from '../../store/contract.js'
import { asLockError, owing } from './errors.js'
import type { Node, Panel } from './node.js'

export type NodeVoteState =
  | { readonly is: 'idle' }
  /** `voted`: it is asked again for a vote that it gave, and gives still as far as we know. */
  | { readonly is: 'asking'; readonly voted: boolean }
  /**
   * The node grants it until `endMs` of our clock at least. `newSince`: when the request left that
   * made the grant.
   */
  | { readonly is: 'voted'; readonly endMs: number; readonly newSince: number | undefined }
  | { readonly is: 'busy'; readonly untilMs: number | undefined }
  | { readonly is: 'retracting' }
  /** The claim is refused there for good. */
  | { readonly is: 'buried' }
  | { readonly is: 'failed'; readonly error: LockError }

export class NodeVote {
  state: NodeVoteState = { is: 'idle' }
  readonly #node: Node
  readonly #panel: Panel
  readonly #changed: (vote: NodeVote) => void

  /** @param changed called when an answer came */
  constructor(node: Node, panel: Panel, changed: (vote: NodeVote) => void) {
    this.#node = node
    this.#panel = panel
    this.#changed = changed
  }

  /** Whether there is a vote, or may soon be. */
  get isOpen(): boolean {
    return this.state.is === 'asking' || this.state.is === 'voted' || this.state.is === 'retracting'
  }

  /** Whether the node gives its vote, as far as we know. */
  get hasVoted(): boolean {
    return this.state.is === 'voted' || (this.state.is === 'asking' && this.state.voted)
  }

  /** Asks for a vote that the node has lost. */
  askAnew(claim: Claim): void {
    if (this.state.is === 'voted') this.state = { is: 'idle' }
    this.ask(claim)
  }

  /** Asks for the vote, unless an older question is open: then its answer is as good. */
  ask(claim: Claim): void {
    if (this.state.is === 'asking' || this.state.is === 'retracting') return
    if (this.#node.withdrawals.has(claim.id)) {
      // A withdrawal of this claim may still arrive there, and would undo the vote.
      if (this.state.is !== 'failed') this.state = { is: 'failed', error: owing() }
      return
    }
    this.state = { is: 'asking', voted: this.hasVoted }
    const sentMs = this.#panel.clock.monotonicMs()
    this.#call(() => this.#node.store.attempt(claim, { enqueue: false, tokens: 1 })).then(
      (result) => this.#become(this.#heard(result, sentMs)),
      (error: unknown) => this.#become({ is: 'failed', error: asLockError(error) }),
    )
  }

  /** Takes a vote back. Resolves when it is gone, or is owed. */
  async retract(claim: Claim): Promise<void> {
    this.state = { is: 'retracting' }
    try {
      await this.#call(() => this.#node.store.retract(claim))
      this.#become({ is: 'idle' })
    } catch (error) {
      // Whatever has become of the claim since: what may still arrive would end a vote that is
      // counted.
      this.withdrawLater(claim)
      this.#become({ is: 'failed', error: asLockError(error) })
    }
  }

  /**
   * After a failure there may be a vote that nobody knows of, or there will be: it is withdrawn
   * until the node says so.
   */
  withdrawLater(claim: Claim): void {
    this.#node.withdrawals.add(claim)
  }

  #heard(result: AttemptResult, sentMs: number): NodeVoteState {
    if (result.outcome === 'withdrawn') return { is: 'buried' }
    if (result.outcome === 'granted') {
      // What the node says is left began after the request left: counted from there it is never too
      // long.
      const endMs = sentMs + result.remainingMs
      return { is: 'voted', endMs, newSince: result.alreadyGranted ? undefined : sentMs }
    }
    const { holderRemainingMs } = result
    if (holderRemainingMs === undefined) return { is: 'busy', untilMs: undefined }
    return { is: 'busy', untilMs: this.#panel.clock.monotonicMs() + holderRemainingMs }
  }

  #become(state: NodeVoteState): void {
    this.state = state
    this.#changed(this)
  }

  async #call<T>(send: () => T | PromiseLike<T>): Promise<T> {
    return send()
  }
}
