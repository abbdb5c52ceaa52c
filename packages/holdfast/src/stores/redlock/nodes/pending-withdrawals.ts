/**
 * Withdrawals that a node has not confirmed: it was down, or the outcome of the request is unknown.
 *
 * An attempt that a node has not answered may have been granted there, and may even arrive later.
 * So the client withdraws the claim until the node confirms it, which leaves a tombstone there.
 * After the claim's TTL a vote has ended by itself.
 */
import type { Clock, Timer } from '../../../clock/clock.js'
import type { OpenRequests } from './open-requests.js'
import type { ClaimRef, Store } from '../../../store/contract.js'

/** How often a node that failed is asked again, in milliseconds. One request leaves each time. */
const ASK_EVERY_MS = 1000
/** How many the node's store sends in one call. */
const LARGEST_REQUEST = 32
/** How many the client remembers for one node. */
export const MOST_PENDING = 10_000

interface PendingWithdrawal {
  readonly claim: ClaimRef
  readonly untilMs: number
  asking: boolean
}

/** The withdrawals that one node has not confirmed. */
export class PendingWithdrawals {
  readonly #node: Pick<Store, 'withdraw'>
  readonly #clock: Clock
  readonly #openRequests: OpenRequests
  /** By the claim's id. The one that was asked about last stands last. */
  readonly #pending = new Map<string, PendingWithdrawal>()
  /** Until then a claim that was not remembered may have a vote, or a message in flight. */
  #forgottenUntilMs = -Infinity
  #requests = 0
  #failing = false
  #timer: Timer | undefined
  #closed = false

  constructor(node: Pick<Store, 'withdraw'>, clock: Clock, requests: OpenRequests) {
    this.#node = node
    this.#clock = clock
    this.#openRequests = requests
  }

  /**
   * Whether a withdrawal of this claim may still arrive here. Until then no grant of the node
   * counts for it. When there were too many to remember, this holds for every claim.
   */
  has(claimId: string): boolean {
    if (this.#pending.has(claimId)) return true
    return this.#forgottenUntilMs > -Infinity && this.#clock.monotonicMs() < this.#forgottenUntilMs
  }

  /** Withdraws the claim at once, or with the others when the node answers again. */
  add({ lock, id, ttlMs }: ClaimRef): void {
    if (this.#closed || this.#pending.has(id)) return
    const untilMs = this.#clock.monotonicMs() + ttlMs
    if (this.#pending.size >= MOST_PENDING) {
      this.#forgottenUntilMs = Math.max(this.#forgottenUntilMs, untilMs)
      return
    }
    // A failure of long ago says nothing about the node now.
    if (this.#pending.size === 0) this.#failing = false
    this.#pending.set(id, { claim: { lock, id, ttlMs }, untilMs, asking: false })
    if (this.#requests === 0 && !this.#failing) void this.#ask()
    this.#timer ??= this.#clock.timer(ASK_EVERY_MS, () => this.#tick(), true)
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
    this.#pending.clear()
  }

  #tick(): void {
    this.#timer = undefined
    this.#dropOld()
    void this.#ask()
    if (this.#pending.size > 0)
      this.#timer = this.#clock.timer(ASK_EVERY_MS, () => this.#tick(), true)
  }

  #dropOld(): void {
    const nowMs = this.#clock.monotonicMs()
    for (const [id, { untilMs, asking }] of this.#pending) {
      // Not while a request is open, or it could undo a vote of a later attempt.
      if (untilMs <= nowMs && !asking) this.#pending.delete(id)
    }
  }

  /** Sends one request. When the node has answered all of it, the next one follows at once. */
  async #ask(): Promise<void> {
    const pending = this.#next()
    if (pending.length === 0) return
    this.#requests += 1
    const answered = await Promise.all(pending.map((pending) => this.#withdraw(pending)))
    this.#requests -= 1
    this.#failing = answered.includes(false)
    if (!this.#failing) void this.#ask()
  }

  #next(): PendingWithdrawal[] {
    const next: PendingWithdrawal[] = []
    for (const pending of this.#pending.values()) {
      if (next.length === LARGEST_REQUEST) break
      if (!pending.asking) next.push(pending)
    }
    return next
  }

  /** Returns whether the node answered. */
  async #withdraw(pending: PendingWithdrawal): Promise<boolean> {
    const { id } = pending.claim
    pending.asking = true
    try {
      await this.#openRequests.send(() => this.#node.withdraw(pending.claim))
      this.#pending.delete(id)
      return true
    } catch {
      // The other withdrawals go before it.
      if (this.#pending.delete(id)) this.#pending.set(id, pending)
      return false
    } finally {
      pending.asking = false
    }
  }
}
