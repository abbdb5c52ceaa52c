/**
 * Claims with a request that may still arrive: its outcome is unknown, or it was sent a second time
 * after its connection broke. Such a request is assumed to arrive within three TTLs.
 */
import type { Clock } from '../../../clock/clock.js'
import type { ClaimRef } from '../../../store/contract.js'

const KEPT_TTLS = 3
/** How many claims are remembered. */
const MOST_KEPT = 10_000
/** Between two withdrawals of a claim that was given up; the time doubles. */
const FIRST_PAUSE_MS = 500

export class LateRequests {
  readonly #clock: Clock
  /** Until when, by the claim's id. */
  readonly #claims = new Map<string, number>()
  readonly #givenUp = new Set<string>()
  /**
   * The ids of claims that are withdrawn in the background, since their callers will not. Such a
   * withdrawal would undo what the claim is granted meanwhile.
   */
  readonly givenUp: ReadonlySet<string> = this.#givenUp
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add({ id, ttlMs }: ClaimRef): void {
    this.#claims.delete(id)
    this.#forgetOld()
    if (this.#claims.size < MOST_KEPT)
      this.#claims.set(id, this.#clock.monotonicMs() + KEPT_TTLS * ttlMs)
  }

  /** When too many are unclear to remember which, all are. */
  has(claimId: string): boolean {
    if (this.#claims.size === 0) return false
    this.#forgetOld()
    return (
      this.#claims.size >= MOST_KEPT ||
      (this.#claims.get(claimId) ?? -Infinity) > this.#clock.monotonicMs()
    )
  }

  /** The claim has a tombstone now: a late request of it is refused. */
  resolve(claimId: string): void {
    this.#claims.delete(claimId)
  }

  /** Withdraws a claim until that is answered, or nothing of it can arrive any more. */
  async withdrawInBackground(claim: ClaimRef, withdraw: () => PromiseLike<unknown>): Promise<void> {
    if (this.#givenUp.has(claim.id) || this.#givenUp.size >= MOST_KEPT) return
    this.#givenUp.add(claim.id)
    const untilMs = this.#clock.monotonicMs() + KEPT_TTLS * claim.ttlMs
    for (let pauseMs = FIRST_PAUSE_MS; !(await succeeds(withdraw)); pauseMs *= 2) {
      if (this.#closed || this.#clock.monotonicMs() + pauseMs > untilMs) break
      await new Promise<void>((resolve) => void this.#clock.timer(pauseMs, resolve, true))
    }
    this.#givenUp.delete(claim.id)
  }

  close(): void {
    this.#closed = true
  }

  /**
   * The oldest stand first. One with a long TTL may keep others behind it, which does not matter:
   * each has its own time.
   */
  #forgetOld(): void {
    const nowMs = this.#clock.monotonicMs()
    for (const [id, untilMs] of this.#claims) {
      if (untilMs > nowMs) return
      this.#claims.delete(id)
    }
  }
}

async function succeeds(work: () => PromiseLike<unknown>): Promise<boolean> {
  try {
    await work()
    return true
  } catch {
    return false
  }
}
