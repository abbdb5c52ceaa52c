/**
 * The callers of one client that want alike leases of one lock, each with a claim of its own in the
 * store.
 *
 * Such claims are interchangeable, and the caller that has waited longest gets the first grant. The
 * callers behind it move up by one claim. The n-th caller always stands for the n-th claim. So a
 * caller that gives up takes its place in the store's queue along. Otherwise a later caller would
 * overtake other processes.
 *
 * Claims that can be held side by side have one limit. A claim may have been granted before a
 * caller came, and another process may have got a larger token since. Then the claim's token is too
 * small for that caller. So a caller moves up only to a claim that certainly waited when the caller
 * came. Where that is unknown, the queue holds the grant back for a moment and lets the earlier
 * claim attempt again. Nearly always that one is granted too, and only the message was late.
 */
import type { Timer } from '../../clock/clock.js'
import { LinkedSet, type Place } from '../../collections/linked-set.js'
import { invariant } from '../../invariant.js'
import type { AttemptTerms, ClaimListener, ClaimTerms } from '../claim/claim-terms.js'
import { Grant } from '../grant/grant.js'
import { HeldLease } from '../hold/held-lease.js'
import type { GrantReturner } from '../release/grant-returner.js'
import { channels } from '../runtime/events.js'
import type { AwaitedClaim, ClaimSource } from '../runtime/open-waits.js'
import type { PendingClaim } from '../claim/pending-claim.js'
import type { ClaimTemplate } from '../runtime/runtime.js'
import type { Services } from '../services.js'
import { startClaim } from '../claim/start-claim.js'
import type { CallerWait } from '../wait/caller-wait.js'

/** The longest time for which a grant is held back, in milliseconds. */
const LONGEST_HOLD_BACK_MS = 1000
/** Holding a grant back uses up this share of the TTL at most, whether it is renewed or not. */
const HELD_BACK_SHARE = { renewed: 1 / 6, fixed: 0.01 } as const

/** A caller, and the claim that stands for it now. */
export class QueuedCaller implements ClaimSource {
  wait: CallerWait<HeldLease>
  pending: PendingClaim | undefined
  /** Granted, and held back for an earlier caller. */
  grant: Grant | undefined

  constructor(wait: CallerWait<HeldLease>) {
    this.wait = wait
  }
}

export interface QueueTerms {
  readonly renews: boolean
  /** Returns how many tokens an attempt reserves. */
  readonly tokens: () => number
}

export class ClaimPerCallerQueue {
  readonly #services: Services
  readonly #template: ClaimTemplate
  readonly #terms: ClaimTerms
  readonly #returner: GrantReturner
  /** In the order of the calls. */
  readonly #callers = new LinkedSet<QueuedCaller>()
  /** Runs while a grant is held back. */
  #holdBackTimer: Timer | undefined

  /** @param returner what takes a grant back when its lease is released */
  constructor(
    services: Services,
    template: ClaimTemplate,
    { renews, tokens }: QueueTerms,
    returner: GrantReturner,
  ) {
    this.#services = services
    this.#template = template
    let latest = this.#attemptTerms(tokens())
    this.#terms = {
      enqueue: true,
      renews,
      attemptTerms: () => {
        const count = tokens()
        if (count !== latest.options.tokens) latest = this.#attemptTerms(count)
        return latest
      },
    }
    this.#returner = returner
  }

  #attemptTerms(tokens: number): AttemptTerms {
    return { options: { enqueue: true, tokens, queue: this }, localWaiters: 0 }
  }

  /** How many callers wait. */
  get size(): number {
    return this.#callers.size
  }

  /** The claim of the caller that has waited longest. */
  get pending(): AwaitedClaim | undefined {
    return this.first?.value.pending
  }

  /** The caller that has waited longest. */
  get first(): Place<QueuedCaller> | undefined {
    return this.#callers.first
  }

  /** Makes a claim for a caller. Its wait ends when it is served, fails, or gives up. */
  enter(wait: CallerWait<HeldLease>): void {
    const place = this.#callers.add(new QueuedCaller(wait))
    this.#assign(place, wait)
    this.#claimFor(place)
  }

  #claimFor(place: Place<QueuedCaller>): void {
    const listener: ClaimListener = {
      done: (grant, error) => {
        if (grant) this.#granted(place, grant)
        else this.#fail(place, error)
      },
      waiting: () => this.#serveHeldBack(),
      failing: (outage) => place.value.wait.noteOutage(outage),
    }
    try {
      const waitMs = place.value.wait.leftMs(this.#services.runtime.clock.monotonicMs())
      const found = startClaim(this.#services, this.#template, this.#terms, listener, waitMs)
      if (found instanceof Grant) this.#granted(place, found)
      else place.value.pending = found
    } catch (error) {
      // A store that answers at once refuses at once. The wait must end with it, or closing the
      // client would end it.
      this.#fail(place, error)
    }
  }

  /** Removes a caller, and its claim from the store. */
  leave(place: Place<QueuedCaller>): void {
    this.#callers.delete(place)
    const { pending, grant } = place.value
    pending?.stop()
    if (grant) this.#services.withdrawals.inBackground(grant.claim)
    this.#serveHeldBack()
  }

  /** Serves the caller that has waited longest, or holds the grant back for it. */
  #granted(place: Place<QueuedCaller>, grant: Grant): void {
    const { previous } = this.#earliestFor(place)
    if (previous) this.#holdBack(place, grant, previous)
    else this.#hand(place, grant)
    this.#serveHeldBack()
  }

  /** Returns the earliest caller that may have the grant of this claim. */
  #earliestFor(place: Place<QueuedCaller>): Place<QueuedCaller> {
    let first = place
    while (first.previous && this.#mayTakeOver(first.value.wait, first.previous.value))
      first = first.previous
    return first
  }

  #mayTakeOver({ startedMs }: CallerWait<HeldLease>, { pending, grant }: QueuedCaller): boolean {
    const { weight, capacity } = this.#template
    if (weight === capacity) return true
    return grant === undefined && (pending?.waitedMs ?? -Infinity) >= startedMs
  }

  /** Hands the grant to the earliest caller. Those up to the place of the claim move up. */
  #hand(place: Place<QueuedCaller>, grant: Grant): void {
    const first = this.#earliestFor(place)
    const { wait } = first.value
    for (let at = first; at !== place && at.next; at = at.next) this.#assign(at, at.next.value.wait)
    invariant(this.#callers.delete(place), 'a claim serves one caller', this.#template.lock)
    this.#serve(wait, grant)
  }

  #serve(wait: CallerWait<HeldLease>, grant: Grant): void {
    const { runtime, renewals } = this.#services
    const nowMs = runtime.clock.monotonicMs()
    renewals.add(grant)
    const { claim, token } = grant
    if (channels.granted.hasSubscribers)
      runtime.announce('granted', claim, { token, durationMs: nowMs - wait.startedMs })
    wait.serve(new HeldLease(this.#services, grant, nowMs, wait.maxHoldMs, this.#returner))
  }

  #holdBack(place: Place<QueuedCaller>, grant: Grant, earlier: Place<QueuedCaller>): void {
    place.value.grant = grant
    const share = HELD_BACK_SHARE[this.#terms.renews ? 'renewed' : 'fixed']
    const limitMs = Math.min(LONGEST_HOLD_BACK_MS, share * grant.ttlMs)
    this.#holdBackTimer ??= this.#services.runtime.clock.timer(limitMs, () => {
      this.#holdBackTimer = undefined
      this.#serveHeldBack(true)
    })
    earlier.value.pending?.attemptNow()
  }

  /**
   * Hands out the grants whose callers need not wait for an earlier one any more.
   * @param isOver whether the time is over for which grants are held back
   */
  #serveHeldBack(isOver = false): void {
    if (!this.#holdBackTimer && !isOver) return
    let isHoldingBack = false
    for (let place = this.#callers.first; place;) {
      const { next, value } = place
      const { grant } = value
      if (grant && (isOver || !this.#earliestFor(place).previous)) {
        value.grant = undefined
        this.#handHeldBack(place, grant)
      } else isHoldingBack ||= grant !== undefined
      place = next
    }
    if (isHoldingBack) return
    this.#holdBackTimer?.cancel()
    this.#holdBackTimer = undefined
  }

  /** The grant may have ended while it was held back, or a sleep of the machine hidden its end. */
  #handHeldBack(place: Place<QueuedCaller>, grant: Grant): void {
    const { runtime, withdrawals } = this.#services
    const nowMs = runtime.clock.monotonicMs()
    if (grant.isAlive(nowMs, runtime.clockOffsetMs(nowMs))) {
      this.#hand(place, grant)
      return
    }
    withdrawals.inBackground(grant.claim)
    this.#claimFor(place)
  }

  #assign(place: Place<QueuedCaller>, wait: CallerWait<HeldLease>): void {
    place.value.wait = wait
    wait.onGiveUp = () => this.leave(place)
    wait.source = place.value
  }

  #fail(place: Place<QueuedCaller>, error: unknown): void {
    this.#callers.delete(place)
    place.value.wait.fail(error)
    this.#serveHeldBack()
  }
}
