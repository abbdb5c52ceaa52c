/**
 * The renewals of one turn, answered together. A process may hold ten thousand leases, and most of
 * what their renewal costs it is the collection of what was made for each: that is one object.
 */
import type { Renewal, RenewalListener, RenewResult } from '../../store/contract.js'
import { readRenewal } from './answers.js'
import type { Item } from './batches.js'
import { explain, withdrawing } from './errors.js'
import type { EncodedTerms } from './terms-encoder.js'
import type { InDoubtClaims } from './in-doubt-claims.js'

export interface RenewalsSettings {
  readonly unclear: InDoubtClaims
  /** Takes the results when all are known. */
  readonly resolve: (results: readonly RenewResult[]) => void
  /** Takes each when it is known: a member of a Cluster that does not answer delays no other. */
  readonly report: RenewalListener | undefined
}

export class Renewals {
  readonly #settings: RenewalsSettings
  readonly #results: RenewResult[] = []
  #open: number

  constructor(count: number, settings: RenewalsSettings) {
    this.#open = count
    this.#settings = settings
  }

  /** Whether a withdrawal is under way that ends whatever this claim holds. */
  isGivenUp(claimId: string): boolean {
    return this.#settings.unclear.isGivenUp(claimId)
  }

  settle(index: number, result: RenewResult): void {
    this.#results[index] = result
    this.#open -= 1
    this.#settings.report?.(index, result)
    if (this.#open === 0) this.#settings.resolve(this.#results)
  }
}

export class RenewalItem implements Item {
  readonly verb = 'r'
  readonly key: string
  readonly lock: string
  readonly claimId: string
  readonly shape: EncodedTerms
  readonly #all: Renewals
  readonly #index: number
  readonly #wasGivenUp: boolean

  constructor(
    all: Renewals,
    index: number,
    key: string,
    { lock, id }: Renewal,
    shape: EncodedTerms,
  ) {
    this.#all = all
    this.#index = index
    this.key = key
    this.lock = lock
    this.claimId = id
    this.shape = shape
    this.#wasGivenUp = all.isGivenUp(id)
  }

  /**
   * The withdrawal may reach the server after the renewal, or may have reached it since the server
   * answered.
   */
  done(line: string): void {
    const result = readRenewal(line)
    const isGivenUp = this.#wasGivenUp || this.#all.isGivenUp(this.claimId)
    const counts = result.outcome !== 'renewed' || !isGivenUp
    this.#all.settle(
      this.#index,
      counts ? result : { outcome: 'unknown', cause: withdrawing(this.lock) },
    )
  }

  failed(error: unknown): void {
    this.#all.settle(this.#index, { outcome: 'unknown', cause: explain(error, this.lock) })
  }
}
