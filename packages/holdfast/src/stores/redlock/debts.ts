/**
 * Withdrawals that a node still owes an answer to: it was down, or nobody knows what became of the request.
 *
 * An attempt that a node has not answered may have been granted there, and may even arrive later. So the claim is
 * withdrawn until the node says so, which buries it there. After the claim's TTL a vote has ended by itself.
 */
import type { Clock, Timer } from '../../clock/clock.js'
import type { ClaimRef, Store } from '../../store/contract.js'

/** How often a node is asked again, in milliseconds. All that it owes travels together. */
const ASK_EVERY_MS = 500

interface Debt {
  readonly claim: ClaimRef
  readonly untilMs: number
  asking: boolean
}

/** What one node owes. */
export class Debts {
  readonly #node: Pick<Store, 'withdraw'>
  readonly #clock: Clock
  readonly #debts = new Map<string, Debt>()
  #timer: Timer | undefined
  #closed = false

  constructor(node: Pick<Store, 'withdraw'>, clock: Clock) {
    this.#node = node
    this.#clock = clock
  }

  /** Whether a withdrawal of this claim may still arrive here: until then nothing that the node grants it counts. */
  has(claimId: string): boolean {
    return this.#debts.has(claimId)
  }

  /** Withdraws the claim at once, and again until it is answered. */
  owe(claim: ClaimRef): void {
    if (this.#closed || this.#debts.has(claim.id)) return
    const { lock, id, ttlMs } = claim
    const debt: Debt = {
      claim: { lock, id, ttlMs },
      untilMs: this.#clock.monotonicMs() + ttlMs,
      asking: false,
    }
    this.#debts.set(id, debt)
    void this.#ask(debt)
    this.#timer ??= this.#clock.timer(ASK_EVERY_MS, () => this.#askAll(), true)
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
    this.#debts.clear()
  }

  #askAll(): void {
    this.#timer = undefined
    for (const debt of this.#debts.values()) {
      if (!debt.asking) void this.#ask(debt)
    }
    if (this.#debts.size > 0) this.#timer = this.#clock.timer(ASK_EVERY_MS, () => this.#askAll(), true)
  }

  async #ask(debt: Debt): Promise<void> {
    const { claim, untilMs } = debt
    debt.asking = true
    try {
      await this.#node.withdraw(claim)
      this.#debts.delete(claim.id)
    } catch {
      // Not dropped while a request is open, or it could undo a vote of a later attempt.
      if (this.#clock.monotonicMs() >= untilMs) this.#debts.delete(claim.id)
    }
    debt.asking = false
  }
}
