/**
 * The callers of one client that want alike leases of one lock, each with a claim of its own in the
 * store.
 *
 * Such claims are interchangeable, and the attempts of one client may reach a store in another
 * order than that of the calls. So the caller that has waited longest gets the first grant,
 * whichever claim it was made for, and the callers behind it move up by one claim. The n-th caller
 * always stands for the n-th claim: a caller that gives up leaves its place in the store's queue to
 * nobody, or a later caller would overtake other processes.
 *
 * Claims that can be held side by side have one limit: a claim may have been granted before a
 * caller came, and another process a larger token since. A caller takes over such a claim only if
 * it certainly waited when the caller came.
 */
import { LinkedSet, type Place } from '../collections/linked-set.js'
import type { LockError } from '../errors.js'
import { startClaim } from './start-claim.js'
import type { ClaimTemplate } from './runtime.js'
import type { Services } from './services.js'
import { Grant } from './grant.js'
import type { PendingClaim, ClaimListener, ClaimTerms } from './pending-claim.js'
import type { HeldLease } from './held-lease.js'
import type { Wait } from './wait.js'

/** A caller, and the claim that stands for it now. */
export interface Queued {
  wait: Wait<HeldLease>
  pending: PendingClaim | undefined
}

export class CallerQueue {
  readonly #services: Services
  readonly #template: ClaimTemplate
  readonly #terms: ClaimTerms
  readonly #serve: (wait: Wait<HeldLease>, grant: Grant) => void
  /** In the order of the calls. */
  readonly #queued = new LinkedSet<Queued>()

  constructor(
    services: Services,
    template: ClaimTemplate,
    terms: ClaimTerms,
    serve: (wait: Wait<HeldLease>, grant: Grant) => void,
  ) {
    this.#services = services
    this.#template = template
    this.#terms = { ...terms, queue: this }
    this.#serve = serve
  }

  /** How many callers wait. */
  get size(): number {
    return this.#queued.size
  }

  /**
   * The error of the store, while it is unknown whether the lock is busy: see
   * `PendingClaim.failure`.
   */
  get failure(): LockError | undefined {
    return this.first?.value.pending?.failure
  }

  /** The caller that has waited longest. */
  get first(): Place<Queued> | undefined {
    return this.#queued.first
  }

  /**
   * Makes a claim for a caller, whose wait ends when the queue serves it, when it fails, or when it
   * gives up.
   */
  enter(wait: Wait<HeldLease>): void {
    const place = this.#queued.add({ wait, pending: undefined })
    this.#assign(place, wait)
    const listener: ClaimListener = {
      done: (grant, error) => {
        if (grant) this.#granted(place, grant)
        else this.#fail(place, error)
      },
      failing: (outage) => place.value.wait.noteOutage(outage),
    }
    try {
      const found = startClaim(this.#services, this.#template, this.#terms, listener)
      if (found instanceof Grant) this.#granted(place, found)
      else place.value.pending = found
    } catch (error) {
      // A store that answers at once refuses at once; the wait must end with it, or closing the
      // client would.
      this.#fail(place, error)
    }
  }

  /** Takes a caller out, and its claim out of the store. */
  leave(place: Place<Queued>): void {
    this.#queued.delete(place)
    place.value.pending?.stop()
  }

  /**
   * Serves the caller that has waited longest of those that may. The callers up to the place of the
   * claim move up.
   */
  #granted(place: Place<Queued>, grant: Grant): void {
    let first = place
    while (first.previous && this.#mayTakeOver(first.value.wait, first.previous.value))
      first = first.previous
    const { wait } = first.value
    for (let at = first; at !== place && at.next; at = at.next) this.#assign(at, at.next.value.wait)
    this.#queued.delete(place)
    this.#serve(wait, grant)
  }

  #mayTakeOver({ startedMs }: Wait<HeldLease>, { pending: its }: Queued): boolean {
    const { weight, capacity } = this.#template
    return weight === capacity || (its?.waitedMs ?? -Infinity) >= startedMs
  }

  #assign(place: Place<Queued>, wait: Wait<HeldLease>): void {
    place.value.wait = wait
    wait.onGiveUp = () => this.leave(place)
    wait.failure = () => place.value.pending?.failure
  }

  #fail(place: Place<Queued>, error: unknown): void {
    this.#queued.delete(place)
    place.value.wait.fail(error)
  }
}
