/**
 * The renewals of one call, each with its answer still to come. A class without closures: a process
 * may have ten thousand of them open.
 */
import type { LockError } from '../../../errors.js'
import { invariant } from '../../../invariant.js'
import type { ClaimRef, RenewalListener, RenewResult } from '../../../store/contract.js'
import { lineOf, readRenewal } from '../wire/answers.js'
import type { BatchRequest } from './batches.js'
import { withdrawing } from '../errors.js'
import type { LateRequests } from './late-requests.js'
import type { EncodedTerms } from '../wire/terms-encoder.js'

export interface RenewalRoundSettings {
  readonly lateRequests: LateRequests
  readonly explain: (caught: unknown, lock: string) => LockError
  /** Called at each renewal that the server confirms. */
  readonly onRenewed: () => void
  /** Takes the results when all are known. */
  readonly resolve: (results: readonly RenewResult[]) => void
  /** Takes the error of a listener, which is a defect of its own. */
  readonly reject: (error: unknown) => void
  /** Takes each result when it is known: a slow member of a Cluster delays no other. */
  readonly report: RenewalListener | undefined
}

/** The renewals of one call, answered together. */
export class RenewalRound {
  readonly lateRequests: LateRequests
  readonly #settings: RenewalRoundSettings
  readonly #results: RenewResult[] = []
  #open: number

  constructor(count: number, settings: RenewalRoundSettings) {
    this.#open = count
    this.#settings = settings
    this.lateRequests = settings.lateRequests
  }

  explain(caught: unknown, lock: string): LockError {
    return this.#settings.explain(caught, lock)
  }

  take(index: number, result: RenewResult): void {
    invariant(this.#results[index] === undefined, 'a renewal is answered once')
    this.#results[index] = result
    this.#open -= 1
    const { report, resolve, reject, onRenewed } = this.#settings
    if (result.outcome === 'renewed') onRenewed()
    try {
      report?.(index, result)
    } catch (error) {
      reject(error)
    }
    if (this.#open === 0) resolve(this.#results)
  }
}

export class PendingRenewal implements BatchRequest {
  readonly verb = 'r'
  readonly claim: ClaimRef
  readonly terms: EncodedTerms
  readonly #round: RenewalRound
  readonly #index: number
  readonly #wasBeingWithdrawn: boolean

  constructor(round: RenewalRound, index: number, claim: ClaimRef, terms: EncodedTerms) {
    this.#round = round
    this.#index = index
    this.claim = claim
    this.terms = terms
    this.#wasBeingWithdrawn = round.lateRequests.beingWithdrawn.has(claim.id)
  }

  /**
   * A withdrawal in the background ends what the claim holds. It may reach the server after the
   * renewal, or may have reached it since the server answered.
   */
  done(error: LockError | undefined, reply?: unknown): void {
    const { lock } = this.claim
    let result: RenewResult
    try {
      if (error !== undefined) throw error
      result = readRenewal(lineOf(reply))
    } catch (caught) {
      const cause = this.#round.explain(caught, lock)
      this.#round.take(this.#index, { outcome: 'unknown', cause })
      return
    }
    const isBeingWithdrawn =
      this.#wasBeingWithdrawn || this.#round.lateRequests.beingWithdrawn.has(this.claim.id)
    const counts = result.outcome !== 'renewed' || !isBeingWithdrawn
    this.#round.take(
      this.#index,
      counts ? result : { outcome: 'unknown', cause: withdrawing(lock) },
    )
  }
}
