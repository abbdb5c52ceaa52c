/** The withdrawal of a claim from all nodes, until enough of them have answered. */
import type { LockError } from '../../../errors.js'
import type { PendingRequest } from '../../../clock/request-timeouts.js'
import type { ClaimRef, WithdrawOutcome } from '../../../store/contract.js'
import { asLockError, noAnswer } from '../errors.js'
import { quorumOf, type Node, type Panel } from './node.js'
import type { AnswerListener } from '../../../store/pending-answer.js'

type NodeAnswer = WithdrawOutcome | LockError | undefined

/** What the nodes answered up to the decision. */
export interface WithdrawalAnswers {
  /** A majority of the nodes that count has released the claim. */
  readonly isReleased: boolean
  /** However the others answer, no majority has released it. */
  readonly isAbsent: boolean
  /** The failures by the place of the node. */
  readonly failures: ReadonlyMap<number, LockError>
}

export class WithdrawalRound {
  readonly #panel: Panel
  readonly #claim: ClaimRef
  readonly #restedOn: ReadonlySet<number> | undefined
  readonly #answers: NodeAnswer[]
  #open: number
  #released = 0
  #others = 0
  #wait: PendingRequest | undefined
  #resolve: ((answers: WithdrawalAnswers) => void) | undefined

  /** @param restedOn the nodes whose votes the lease rested on: no other one counts as released */
  constructor(panel: Panel, claim: ClaimRef, restedOn: ReadonlySet<number> | undefined) {
    this.#panel = panel
    this.#claim = claim
    this.#restedOn = restedOn
    this.#open = panel.nodes.length
    this.#answers = panel.nodes.map(() => undefined)
  }

  /** Asks all nodes at once. Resolves when it is decided, or when they have used up their time. */
  run(): Promise<WithdrawalAnswers> {
    return new Promise((resolve) => {
      this.#resolve = resolve
      this.#wait = this.#panel.timeouts.start(() => this.#end())
      for (let node = 0; node < this.#answers.length; node += 1) this.#ask(node)
    })
  }

  #ask(index: number): void {
    const { store, requests } = this.#panel.nodes[index] as Node
    requests.ask(() => store.withdraw(this.#claim), new NodeListener(this, index))
  }

  /** A node has answered. */
  take(index: number, outcome: WithdrawOutcome): void {
    this.#answers[index] = outcome
    if (outcome === 'released' && (this.#restedOn?.has(index) ?? true)) this.#released += 1
    else this.#others += 1
    this.#note()
  }

  /**
   * A node that does not answer may hold a vote, now or later: the client withdraws the claim until
   * the node confirms it.
   */
  takeFailure(index: number, error: unknown): void {
    const { withdrawals } = this.#panel.nodes[index] as Node
    withdrawals.add(this.#claim)
    this.#answers[index] = asLockError(error)
    this.#note()
  }

  #note(): void {
    this.#open -= 1
    if (this.#open === 0 || this.#isReleased || this.#isAbsent) this.#end()
  }

  get #isReleased(): boolean {
    return this.#released >= quorumOf(this.#panel)
  }

  get #isAbsent(): boolean {
    return this.#others > this.#answers.length - quorumOf(this.#panel)
  }

  #end(): void {
    const resolve = this.#resolve
    if (!resolve) return
    this.#resolve = undefined
    if (this.#wait) this.#panel.timeouts.end(this.#wait)
    const [isReleased, isAbsent] = [this.#isReleased, this.#isAbsent]
    const isDecided = isReleased || isAbsent
    resolve({ isReleased, isAbsent, failures: isDecided ? NO_FAILURES : this.#failures() })
  }

  #failures(): Map<number, LockError> {
    const failures = new Map<number, LockError>()
    for (const [index, answer] of this.#answers.entries()) {
      if (answer === undefined) failures.set(index, noAnswer(this.#panel.nodeTimeoutMs))
      else if (typeof answer !== 'string') failures.set(index, answer)
    }
    return failures
  }
}

const NO_FAILURES: ReadonlyMap<number, LockError> = new Map()

/** Hears the answer of one node. */
class NodeListener implements AnswerListener<WithdrawOutcome> {
  readonly #round: WithdrawalRound
  readonly #index: number

  constructor(round: WithdrawalRound, index: number) {
    this.#round = round
    this.#index = index
  }

  answered(outcome: WithdrawOutcome): void {
    this.#round.take(this.#index, outcome)
  }

  failed(error: unknown): void {
    this.#round.takeFailure(this.#index, error)
  }
}
