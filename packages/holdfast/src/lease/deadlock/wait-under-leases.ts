/** A wait of work that runs under leases, and the leases that it keeps meanwhile. */
import type { Renewal, WaitNote } from '../../store/contract.js'

/** A lease under which work runs. */
export interface OuterLease {
  readonly name: string
  readonly claimId: string
  readonly weight: number
  readonly capacity: number
  /** Whether it was neither released nor reported lost. */
  readonly open: boolean
  /** The store that granted it. */
  readonly store: object
  /**
   * Another process renews it, and its renewals take the notes of this one away. So each round of
   * the search shows them again.
   */
  readonly isRenewedElsewhere?: boolean
  /**
   * Shows what the work under it waits for, from the next renewal on. Returns the request that
   * shows it at once; undefined when the lease is over.
   */
  noteWaits(waits: readonly WaitNote[]): Renewal | undefined
}

/** A frame of `run`, as far as the detector needs it. */
export interface OuterFrame {
  readonly alive: boolean
  readonly lease: OuterLease
  readonly outer: OuterFrame | undefined
}

/** What a caller asks for, and the innermost frame in which it asks. */
export interface NestedRequest {
  readonly frame: OuterFrame
  readonly weight: number
  readonly capacity: number
}

/** One caller's wait. */
export interface PendingWait {
  readonly lock: string
  readonly startedMs: number
  /** What stands for it in the queue now. */
  readonly source: { readonly pending: { readonly claimId: string } | undefined } | undefined
  giveUp(reason: unknown): void
}

export class WaitUnderLeases {
  readonly wait: PendingWait
  /** The cycle in which this client has seen it. */
  cycle: string | undefined
  /** Whether a lease shows it in the store. */
  isShown = false
  readonly #request: NestedRequest
  readonly #sinceMs: number
  readonly #newId: () => string
  #id: string | undefined

  constructor(wait: PendingWait, request: NestedRequest, sinceMs: number, newId: () => string) {
    this.wait = wait
    this.#request = request
    this.#sinceMs = sinceMs
    this.#newId = newId
  }

  /** Made when it is needed: nearly every wait is over before. */
  get id(): string {
    return (this.#id ??= this.#newId())
  }

  get lock(): string {
    return this.wait.lock
  }

  get weight(): number {
    return this.#request.weight
  }

  get capacity(): number {
    return this.#request.capacity
  }

  get note(): WaitNote {
    const { weight, capacity } = this.#request
    const { lock, source } = this.wait
    const claimId = weight === capacity ? undefined : source?.pending?.claimId
    return { id: this.id, lock, weight, claimId, sinceMs: this.#sinceMs, cycle: this.cycle }
  }

  /** Whether it waits under an open lease of this store. */
  isUnderLeases(store: object): boolean {
    let frame: OuterFrame | undefined = this.#request.frame
    while (frame && !(frame.alive && frame.lease.open && frame.lease.store === store))
      frame = frame.outer
    return frame !== undefined
  }

  /** The open leases of this store under which it waits. */
  leases(store: object): Set<OuterLease> {
    const leases = new Set<OuterLease>()
    for (let frame: OuterFrame | undefined = this.#request.frame; frame; frame = frame.outer) {
      const { alive, lease } = frame
      if (alive && lease.open && lease.store === store) leases.add(lease)
    }
    return leases
  }
}
