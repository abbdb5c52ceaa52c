/**
 * Which actor made which claim for one wish of its own. A claim that a process makes for a whole
 * cohort belongs to no single actor. Actors with claims of their own may be served by each other's:
 * such claims are interchangeable.
 */
export interface Asker {
  readonly actor: string
  readonly lock: string
}

export class Claimants {
  readonly #askers = new Map<string, Asker>()
  /** The claim that each actor's present wish for a lock has made. */
  readonly #present = new Map<string, string>()
  readonly #served = new Set<string>()
  /** The claim with which each actor adopts. */
  readonly #adopting = new Map<string, string>()
  readonly #adopters = new Set<string>()
  /** The latest call for each lock. */
  readonly #latest = new Map<string, Asker>()
  /** Claims of exported leases. They belong to no client. */
  readonly exported = new Set<string>()
  /** Claims that a client has begun to withdraw. */
  readonly withdrawn = new Set<string>()
  /** Claims that their clients have begun to export. */
  readonly passedOn = new Set<string>()
  /** Claims whose leases were announced as lost. */
  readonly lost = new Set<string>()
  #asking: Asker | undefined

  /** Runs `ask` so that a claim which it makes in this very tick is known to be of this asker. */
  asking<T>(asker: Asker, ask: () => T): T {
    this.#present.delete(nameOf(asker))
    this.#asking = asker
    this.#latest.set(asker.lock, asker)
    try {
      return ask()
    } finally {
      this.#asking = undefined
    }
  }

  /** A claim is sent for the first time, or again. */
  sent(lock: string, claimId: string): void {
    if (this.#asking?.lock !== lock) return
    this.#askers.set(claimId, this.#asking)
    this.#present.set(nameOf(this.#asking), claimId)
  }

  /**
   * A claim is about to take the place of another one. The library loads the code for that after
   * the call. So the request leaves in a later tick, but before the next event of the world.
   */
  adopts(lock: string, claimId: string): void {
    const asker = this.#latest.get(lock)
    if (!asker || this.#adopters.has(claimId)) return
    this.#adopters.add(claimId)
    this.#adopting.set(asker.actor, claimId)
  }

  /** The claim with which an actor tried to adopt. */
  adopterOf(actor: string): string | undefined {
    return this.#adopting.get(actor)
  }

  /** Whose own wish a claim stands for now. */
  of(claimId: string): Asker | undefined {
    const asker = this.#askers.get(claimId)
    return asker && this.#present.get(nameOf(asker)) === claimId ? asker : undefined
  }

  /** Whether a claim was made for this actor. */
  hasMade(actor: string, claimId: string): boolean {
    return this.#askers.get(claimId)?.actor === actor
  }

  /** An actor got a lease. */
  served(actor: string, claimId: string, token: bigint | undefined): void {
    const lock = this.#askers.get(claimId)?.lock
    if (lock !== undefined && this.#present.has(nameOf({ actor, lock }))) {
      this.#served.add(leaseOf(claimId, token))
    }
  }

  /**
   * Whether the actor that got the lease had made a claim of its own, and was not handed the lease
   * inside a cohort.
   */
  isOwn(claimId: string, token: bigint | undefined): boolean {
    return this.#served.has(leaseOf(claimId, token))
  }
}

function nameOf({ actor, lock }: Asker): string {
  return `${actor} ${lock}`
}

function leaseOf(claimId: string, token: bigint | undefined): string {
  return `${claimId} ${String(token)}`
}
