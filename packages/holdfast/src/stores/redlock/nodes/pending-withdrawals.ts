/**
 * Withdrawals that a node has not confirmed: it was down, or the outcome of the request is unknown.
 *
 * An attempt that a node has not answered may have been granted there, and may even arrive later.
 * So the client withdraws the claim until the node confirms it, which leaves a tombstone there.
 * After the claim's TTL a vote has ended by itself.
 */
import type { Clock } from '../../../clock/clock.js'
import { ClaimsInDoubt, MOST_IN_DOUBT } from '../../../in-doubt/claims-in-doubt.js'
import { RepeatedRequests } from '../../../in-doubt/repeated-requests.js'
import type { OpenRequests } from './open-requests.js'
import type { ClaimRef, Store } from '../../../store/contract.js'

/** How often a node that failed is asked again, in milliseconds. One request leaves each time. */
const ASK_EVERY_MS = 1000
/** How many the node's store sends in one call. */
const LARGEST_REQUEST = 32

interface PendingWithdrawal {
  readonly claim: ClaimRef
  readonly untilMs: number
}

/** The withdrawals that one node has not confirmed. */
export class PendingWithdrawals {
  readonly #clock: Clock
  readonly #inDoubt: ClaimsInDoubt
  /** By the claim's id. */
  readonly #pending: RepeatedRequests<string, PendingWithdrawal>

  constructor(node: Pick<Store, 'withdraw'>, clock: Clock, requests: OpenRequests) {
    this.#clock = clock
    this.#inDoubt = new ClaimsInDoubt(clock)
    this.#pending = new RepeatedRequests({
      clock,
      everyMs: ASK_EVERY_MS,
      mostAtOnce: LARGEST_REQUEST,
      when: (_id, { untilMs }) => (clock.monotonicMs() < untilMs ? 'now' : 'never'),
      ask: async (id, { claim }) => {
        await requests.send(() => node.withdraw(claim))
        this.#inDoubt.delete(id)
      },
    })
  }

  /**
   * Whether a withdrawal of this claim may still arrive here. Until then no grant of the node
   * counts for it. When there were too many to remember, this holds for every claim.
   */
  has(claimId: string): boolean {
    return this.#inDoubt.has(claimId) || this.#pending.isOpen(claimId)
  }

  /** Withdraws the claim at once, or with the others when the node answers again. */
  add({ lock, id, ttlMs }: ClaimRef): void {
    if (this.#pending.has(id)) return
    this.#inDoubt.add(id, ttlMs)
    if (this.#pending.size >= MOST_IN_DOUBT) return
    const untilMs = this.#clock.monotonicMs() + ttlMs
    this.#pending.addNew(id, { claim: { lock, id, ttlMs }, untilMs })
  }

  close(): void {
    this.#pending.stop()
  }
}
