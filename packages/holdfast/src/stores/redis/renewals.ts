/**
 * The renewals of one turn, answered together. A process may hold ten thousand leases, and most of what their renewal costs
 * it is the collection of what was made for each: that is one object.
 */
import type { Renewal, RenewResult } from '../../store/contract.js'
import { readRenewal } from './answers.js'
import type { Item } from './batches.js'
import { explain } from './errors.js'
import type { Shape } from './shapes.js'

export class Renewals {
  readonly #results: RenewResult[] = []
  readonly #resolve: (results: readonly RenewResult[]) => void
  #open: number

  constructor(count: number, resolve: (results: readonly RenewResult[]) => void) {
    this.#open = count
    this.#resolve = resolve
  }

  settle(index: number, result: RenewResult): void {
    this.#results[index] = result
    this.#open -= 1
    if (this.#open === 0) this.#resolve(this.#results)
  }
}

export class RenewalItem implements Item {
  readonly verb = 'r'
  readonly key: string
  readonly lock: string
  readonly claimId: string
  readonly shape: Shape
  readonly #all: Renewals
  readonly #index: number

  constructor(all: Renewals, index: number, key: string, { lock, id }: Renewal, shape: Shape) {
    this.#all = all
    this.#index = index
    this.key = key
    this.lock = lock
    this.claimId = id
    this.shape = shape
  }

  done(line: string): void {
    this.#all.settle(this.#index, readRenewal(line))
  }

  failed(error: unknown): void {
    this.#all.settle(this.#index, { outcome: 'unknown', cause: explain(error, this.lock) })
  }
}
