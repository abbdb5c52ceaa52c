/**
 * One try of a claim to take the place of another one at all nodes. Each node turns the claim that
 * holds into one other claim and never back, so that only one adopter can get a majority.
 *
 * When several adopters ask all nodes at once, each may get a minority, and none the lease. So a
 * client asks the nodes in their common order until one of them grants, and only then the others.
 * An adopter finds at the first node that another one was there before it, and stops: it has taken
 * nothing then. Only adopters that cannot reach the same nodes get votes beside each other.
 *
 * A node never gives the lease back to the claim that held. Otherwise two adopters could count the
 * same node.
 */
import type { Adoption, Granted, LostRenewal } from '../../../store/contract.js'
import { asLockError } from '../errors.js'
import { noMajority } from '../nodes/no-majority.js'
import { quorumOf, type Panel, type VoteAdoption } from '../nodes/node.js'
import type { NodeVote } from './node-vote.js'
import { Answers, poll, type Answer } from './poll.js'

export const LOST: LostRenewal = { outcome: 'lost', reason: 'expired' }

type VoteAnswer = Answer<VoteAdoption> | undefined

export class AdoptionRound {
  readonly #adoption: Adoption
  readonly #votes: readonly NodeVote[]
  readonly #panel: Panel
  readonly #answers: VoteAnswer[]
  readonly #asked = new Set<number>()
  #isAdopted = false

  constructor(adoption: Adoption, votes: readonly NodeVote[], panel: Panel) {
    this.#adoption = adoption
    this.#votes = votes
    this.#panel = panel
    this.#answers = votes.map(() => undefined)
  }

  /**
   * Resolves to the loss when a majority can no longer be reached, and to undefined when one was.
   * @throws StoreUnavailableError when neither is known. The claim keeps what it has taken, for a
   * repeated try or a withdrawal.
   */
  async run(): Promise<LostRenewal | undefined> {
    await this.#askInOrder()
    if (!this.#isDecided) await this.#ask([...this.#votes.keys()], () => this.#isDecided)
    if (this.#isGranted) return undefined
    const loss = this.#loss
    if (loss) return loss
    const { nodes, nodeTimeoutMs } = this.#panel
    const failures = new Answers([...this.#answers]).failures(nodeTimeoutMs)
    throw noMajority('the adoption', nodes.length, failures, this.#adoption.to.lock)
  }

  /** The old claim is over. A vote that it still has would keep the new one out of that node. */
  withdrawOld(): void {
    this.#isAdopted = true
    for (const index of this.#votes.keys()) this.#withdrawOldAt(index)
  }

  async #askInOrder(): Promise<void> {
    for (const index of this.#votes.keys()) {
      await this.#ask([index], () => false)
      if (this.#answers.some(isGrant) || this.#isDecided) return
    }
  }

  /** Asks those of the nodes that were not asked, and waits for them, but not for long. */
  async #ask(indices: readonly number[], enough: () => boolean): Promise<void> {
    const { clock, nodeTimeoutMs: timeoutMs } = this.#panel
    const open = indices.filter((index) => !this.#asked.has(index))
    if (open.length === 0) return
    const calls = open.map((index) => this.#adoptAt(index))
    await poll(calls, { clock, timeoutMs, enough })
  }

  async #adoptAt(index: number): Promise<void> {
    this.#asked.add(index)
    try {
      const vote = this.#votes[index] as NodeVote
      this.#answers[index] = { value: await vote.adopt(this.#adoption) }
    } catch (error) {
      this.#answers[index] = { error: asLockError(error) }
    }
    if (this.#isAdopted) this.#withdrawOldAt(index)
  }

  #withdrawOldAt(index: number): void {
    const answer = this.#answers[index]
    if (answer && !isGrant(answer)) this.#votes[index]?.withdrawLater(this.#adoption.from)
  }

  get #isDecided(): boolean {
    return this.#isGranted || this.#loss !== undefined
  }

  get #isGranted(): boolean {
    return this.#answers.filter(isGrant).length >= quorumOf(this.#panel)
  }

  get #loss(): LostRenewal | undefined {
    const refusals = this.#answers.flatMap((answer) => refusalOf(answer) ?? [])
    const isOut = refusals.length > this.#votes.length - quorumOf(this.#panel)
    // The other adopter shall get the nodes that this one has not asked.
    const isLate = refusals.some(({ outcome }) => outcome === 'adopted') && !this.#hasTakenAny
    if (!isOut && !isLate) return undefined
    const losses = refusals.flatMap((refusal) => (refusal.outcome === 'lost' ? [refusal] : []))
    return losses.find(({ reason }) => reason === 'stolen') ?? LOST
  }

  /** In this try or an earlier one. */
  get #hasTakenAny(): boolean {
    return this.#votes.some(({ hasVoted }) => hasVoted)
  }
}

function isGrant(answer: VoteAnswer): boolean {
  return answer !== undefined && 'value' in answer && answer.value.outcome === 'granted'
}

function refusalOf(answer: VoteAnswer): Exclude<VoteAdoption, Granted> | undefined {
  if (!answer || !('value' in answer) || answer.value.outcome === 'granted') return undefined
  return answer.value
}
