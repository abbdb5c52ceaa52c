/**
 * Claims in doubt: the outcome of a request is unknown, or it was sent a second time after its
 * connection broke. Such a request is assumed to arrive within three TTLs.
 */
import type { Clock } from '../../../clock/clock.js'
import { ClaimsInDoubt, MOST_IN_DOUBT } from '../../../in-doubt/claims-in-doubt.js'
import { repeatUntilAnswered } from '../../../in-doubt/repeated-requests.js'
import type { ClaimRef } from '../../../store/contract.js'

const KEPT_TTLS = 3
/** Between two withdrawals of a claim in the background; the time doubles. */
const FIRST_PAUSE_MS = 500

function pauseMs(failures: number): number {
  return FIRST_PAUSE_MS * 2 ** (failures - 1)
}

export class LateRequests {
  readonly #clock: Clock
  /** The claims with such a request, by their ids. */
  readonly inDoubt: ClaimsInDoubt
  readonly #beingWithdrawn = new Set<string>()
  /**
   * The ids of claims that are withdrawn in the background, since their callers will not. Such a
   * withdrawal would undo what the claim is granted meanwhile.
   */
  readonly beingWithdrawn: ReadonlySet<string> = this.#beingWithdrawn
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.inDoubt = new ClaimsInDoubt(clock)
  }

  add({ id, ttlMs }: ClaimRef): void {
    this.inDoubt.add(id, KEPT_TTLS * ttlMs)
  }

  /** Withdraws a claim until that is answered, or nothing of it can arrive any more. */
  async withdrawInBackground(claim: ClaimRef, withdraw: () => Promise<unknown>): Promise<void> {
    if (this.#beingWithdrawn.has(claim.id) || this.#beingWithdrawn.size >= MOST_IN_DOUBT) return
    this.#beingWithdrawn.add(claim.id)
    const untilMs = this.#clock.monotonicMs() + KEPT_TTLS * claim.ttlMs
    await repeatUntilAnswered(withdraw, {
      clock: this.#clock,
      pauseMs,
      givesUp: (_error, failures) =>
        this.#closed || this.#clock.monotonicMs() + pauseMs(failures) > untilMs,
      background: true,
    }).catch(() => undefined)
    this.#beingWithdrawn.delete(claim.id)
  }

  close(): void {
    this.#closed = true
  }
}
