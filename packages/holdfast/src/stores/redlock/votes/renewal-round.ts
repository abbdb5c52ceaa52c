/**
 * One batch of renewals at all nodes, with one request for each node. Each lease has its outcome as
 * soon as enough nodes have answered. A node that does not answer, and a lease whose outcome is
 * unknown, delay no other lease.
 */
import type { Timer } from '../../../clock/clock.js'
import type { Renewal, RenewalListener, RenewResult } from '../../../store/contract.js'
import type { SealedRenewal } from '../../redis/wire/redlock-seal.js'
import { asLockError, tooLate, withdrawalPending } from '../errors.js'
import { noMajority } from '../nodes/no-majority.js'
import { quorumOf, type Panel } from '../nodes/node.js'
import { Answers, type Answer } from './poll.js'
import { judgeRenewal, renewalFailures } from './renewal-outcome.js'

/** What follows from the outcomes. */
export interface RenewalFollowUp {
  /** Takes each outcome as soon as it is known. */
  readonly report: RenewalListener | undefined
  /** A majority renewed the lease. It ends at `endMs` of the client's clock. */
  onRenewed(renewal: Renewal, endMs: number): void
  /** A node answered this for a lease that a majority renewed, before or after that was known. */
  onAnswer(renewal: Renewal, node: number, result: RenewResult): void
}

type ByNode = (Answer<RenewResult> | undefined)[]

export class RenewalRound {
  readonly #panel: Panel
  readonly #renewals: readonly SealedRenewal[]
  readonly #followUp: RenewalFollowUp
  readonly #sentMs: number
  readonly #answers: readonly ByNode[]
  readonly #results: RenewResult[] = []
  #open: number
  #timer: Timer | undefined
  #resolve!: (results: readonly RenewResult[]) => void

  constructor(panel: Panel, renewals: readonly SealedRenewal[], followUp: RenewalFollowUp) {
    this.#panel = panel
    this.#renewals = renewals
    this.#followUp = followUp
    this.#sentMs = panel.clock.monotonicMs()
    this.#answers = renewals.map(() => panel.nodes.map(() => undefined))
    this.#open = renewals.length
  }

  /**
   * Asks all nodes. Resolves when there is an outcome for each lease, or when the nodes have used
   * up their time.
   */
  run(): Promise<readonly RenewResult[]> {
    const { clock, nodes, nodeTimeoutMs } = this.#panel
    return new Promise((resolve) => {
      this.#resolve = resolve
      this.#timer = clock.timer(nodeTimeoutMs, () => this.#end())
      for (const node of nodes.keys()) void this.#ask(node)
    })
  }

  async #ask(node: number): Promise<void> {
    const { store, withdrawals } = this.#panel.nodes[node] as Panel['nodes'][number]
    const wasPending = this.#renewals.map(({ id }) => withdrawals.has(id))
    const take = (index: number, result: RenewResult): void => {
      // A vote that a withdrawal in flight will end, or may have ended since the node answered,
      // renews nothing.
      const { id } = this.#renewals[index] as Renewal
      const isPending = wasPending[index] === true || withdrawals.has(id)
      const counts = result.outcome !== 'renewed' || !isPending
      const unknown = { outcome: 'unknown', cause: withdrawalPending() } as const
      this.#take(index, node, { value: counts ? result : unknown })
    }
    try {
      const results = await store.renew(this.#renewals, take)
      for (let index = 0; index < results.length; index += 1)
        take(index, results[index] as RenewResult)
    } catch (error) {
      const failure = { error: asLockError(error) }
      for (const index of this.#renewals.keys()) this.#take(index, node, failure)
    }
  }

  #take(index: number, node: number, answer: Answer<RenewResult>): void {
    const byNode = this.#answers[index] as ByNode
    if (byNode[node]) return
    byNode[node] = answer
    if (this.#results[index]) {
      this.#follow(index, node)
      return
    }
    const answers = new Answers(byNode)
    const outcome = judgeRenewal(answers, quorumOf(this.#panel))
    if (outcome) this.#decide(index, outcome)
    else if (answers.open === 0) this.#finish(index, this.#unknown(index, answers))
  }

  #decide(index: number, result: RenewResult): void {
    const { lock, ttlMs } = this.#renewals[index] as Renewal
    if (result.outcome !== 'renewed') {
      this.#finish(index, result)
      return
    }
    this.#followUp.onRenewed(this.#renewals[index] as Renewal, this.#sentMs + ttlMs)
    const elapsedMs = this.#panel.clock.monotonicMs() - this.#sentMs
    // An answer that came after the end of what it grants proves nothing any more.
    const isLate = elapsedMs >= ttlMs
    const cause = isLate && tooLate('renewed', lock, ttlMs, elapsedMs)
    this.#finish(index, cause ? { outcome: 'unknown', cause } : result)
    for (const node of this.#panel.nodes.keys()) this.#follow(index, node)
  }

  #follow(index: number, node: number): void {
    if (this.#results[index]?.outcome !== 'renewed') return
    const answer = this.#answers[index]?.[node]
    if (answer && 'value' in answer) {
      this.#followUp.onAnswer(this.#renewals[index] as Renewal, node, answer.value)
    }
  }

  #finish(index: number, result: RenewResult): void {
    this.#results[index] = result
    this.#open -= 1
    this.#followUp.report?.(index, result)
    if (this.#open > 0) return
    this.#timer?.cancel()
    this.#resolve(this.#results)
  }

  /** The nodes have used up their time. */
  #end(): void {
    for (const [index, byNode] of this.#answers.entries()) {
      // A copy: later answers must not change what was decided.
      if (!this.#results[index]) this.#finish(index, this.#unknown(index, new Answers([...byNode])))
    }
  }

  #unknown(index: number, answers: Answers<RenewResult>): RenewResult {
    const { nodes, nodeTimeoutMs } = this.#panel
    const { lock } = this.#renewals[index] as Renewal
    const failures = renewalFailures(answers, nodeTimeoutMs)
    return { outcome: 'unknown', cause: noMajority('the renewal', nodes.length, failures, lock) }
  }
}
