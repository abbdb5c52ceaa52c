/**
 * A cohort: the callers of one process that want exclusive use of one lock.
 *
 * They queue here, in order. One claim stands for all of them in the store's queue. A release
 * passes the grant to the next caller without a call to the store, within a bound. Then the claim
 * is withdrawn and a new one queues behind the other processes, in one round trip where the store
 * batches.
 */
import { LinkedSet } from '../../collections/linked-set.js'
import { invariant } from '../../invariant.js'
import type { AttemptOptions } from '../../store/contract.js'
import { channels } from '../runtime/events.js'
import { startClaim } from '../claim/start-claim.js'
import type { ClaimTemplate } from '../runtime/runtime.js'
import type { Services } from '../services.js'
import { Grant, type GrantQueue } from '../grant/grant.js'
import { canHandOff, handOff, HAND_OFFS_IN_A_ROW, releaseGrant } from './local-hand-off.js'
import { HeldLease } from '../hold/held-lease.js'
import type { GrantReturner } from '../release/grant-returner.js'
import type { AwaitedClaim, ClaimSource } from '../runtime/open-waits.js'
import type { AttemptTerms, ClaimListener, ClaimTerms } from '../claim/claim-terms.js'
import type { Outage } from '../wait/outage.js'
import type { PendingClaim } from '../claim/pending-claim.js'
import { CallerWait, type WaitLimits } from '../wait/caller-wait.js'
import type { ReleaseListener, ReleaseOutcome } from '../release/release-until-answered.js'

export class CohortQueue
  implements GrantReturner, GrantQueue, ClaimSource, ClaimTerms, ClaimListener
{
  readonly enqueue = true
  readonly renews = true
  readonly #services: Services
  readonly #template: ClaimTemplate
  readonly #waits = new LinkedSet<CallerWait<HeldLease>>()
  readonly #forOne: AttemptTerms
  readonly #forSeveral: AttemptOptions
  #pending: PendingClaim | undefined
  #grant: Grant | undefined

  constructor(services: Services, template: ClaimTemplate) {
    this.#services = services
    this.#template = template
    const { tokenBlocks } = services.runtime.store.traits
    const options = { enqueue: true, tokens: 1, queue: this }
    this.#forOne = { options, localWaiters: 0 }
    this.#forSeveral = { ...options, tokens: tokenBlocks ? HAND_OFFS_IN_A_ROW : 1 }
  }

  /**
   * Whether no caller of this process holds the lock or wants it. Callers wait only behind a claim
   * or a grant.
   */
  get idle(): boolean {
    return !this.#pending && !this.#grant
  }

  /**
   * Whether a caller of this process holds the lock or wants it. Then the client need not ask the
   * store.
   */
  get busy(): boolean {
    return this.#waits.size > 0 || this.#pending !== undefined || this.#isGrantAlive()
  }

  #isGrantAlive(): boolean {
    const { runtime, renewals } = this.#services
    renewals.catchUp()
    const nowMs = runtime.clock.monotonicMs()
    return this.#grant?.isAlive(nowMs, runtime.clockOffsetMs(nowMs)) ?? false
  }

  /** The claim that stands for all callers. */
  get pending(): AwaitedClaim | undefined {
    return this.#pending
  }

  /**
   * Takes the lock at once where it is free and the store answers synchronously. Otherwise queues.
   * @throws what the store threw synchronously.
   */
  enter(limits: WaitLimits, nowMs: number, maxHoldMs: number): HeldLease | Promise<HeldLease> {
    const { runtime } = this.#services
    if (!this.#pending && !this.#grant) {
      const found = startClaim(this.#services, this.#template, this, this, limits.waitMs)
      if (found instanceof Grant) {
        if (channels.granted.hasSubscribers)
          runtime.announce('granted', found.claim, { token: found.token, durationMs: 0 })
        return this.startLease(found, nowMs, maxHoldMs)
      }
      this.#pending = found
    }
    const wait = new CallerWait<HeldLease>(runtime, this.#template.lock, nowMs, limits, maxHoldMs)
    wait.queuePlace = this.#waits.add(wait)
    wait.onGiveUp = this.#onGiveUp
    wait.source = this
    return wait.promise
  }

  /** Returns the lease of a grant that came without queueing. */
  startLease(grant: Grant, nowMs: number, maxHoldMs: number): HeldLease {
    this.#grant = grant
    grant.queue = this
    this.#services.renewals.add(grant)
    return new HeldLease(this.#services, grant, nowMs, maxHoldMs, this)
  }

  /** How many callers wait. */
  get size(): number {
    return this.#waits.size
  }

  attemptTerms(): AttemptTerms {
    const localWaiters = this.#waits.size - 1
    // A block only when a caller waits to use it, or the tokens would run ahead of the store's
    // clock.
    return localWaiters > 0 ? { options: this.#forSeveral, localWaiters } : this.#forOne
  }

  /** Serves the caller that has waited longest, or fails all of them. */
  done(grant: Grant | undefined, error?: unknown): void {
    this.#pending = undefined
    if (!grant) {
      this.#failAll(error)
      return
    }
    const { runtime, withdrawals } = this.#services
    const place = this.#waits.first
    if (!place) {
      // All callers gave up in the tick of the grant.
      withdrawals.inBackground(grant.claim)
      return
    }
    this.#waits.delete(place)
    const wait = place.value
    const nowMs = runtime.clock.monotonicMs()
    const lease = this.startLease(grant, nowMs, wait.maxHoldMs)
    const { claim, token } = grant
    if (channels.granted.hasSubscribers)
      runtime.announce('granted', claim, { token, durationMs: nowMs - wait.startedMs })
    wait.serve(lease)
  }

  failing(outage: Outage): void {
    for (const wait of this.#waits.values()) wait.noteOutage(outage)
  }

  onLoss(grant: Grant): void {
    this.#moveOn(grant)
  }

  returnGrant(grant: Grant, nowMs: number, listener?: ReleaseListener): ReleaseOutcome {
    const isHandedOn = this.#waits.size > 0 && canHandOff(this.#services.runtime, grant, nowMs)
    const next = isHandedOn ? this.#waits.shift() : undefined
    if (next) {
      handOff(this.#services, grant, next, this, nowMs)
      return 'released'
    }
    const outcome = releaseGrant(this.#services, grant, nowMs, listener)
    this.#moveOn(grant)
    return outcome
  }

  /** Ends a grant here. The callers that still wait queue in the store again. */
  #moveOn(grant: Grant): void {
    if (this.#grant === grant) this.#grant = undefined
    if (this.#waits.size > 0 && !this.#pending) this.#startClaim()
  }

  /** Starts a claim for the callers that wait. */
  #startClaim(): void {
    invariant(!this.#pending, 'a cohort has one claim on its way at most', this.#template.lock)
    try {
      const nowMs = this.#services.runtime.clock.monotonicMs()
      const waitMs = this.#waits.first?.value.leftMs(nowMs)
      const found = startClaim(this.#services, this.#template, this, this, waitMs)
      if (found instanceof Grant) this.done(found)
      else this.#pending = found
    } catch (error) {
      this.#failAll(error)
    }
  }

  #failAll(error: unknown): void {
    for (let wait = this.#waits.shift(); wait; wait = this.#waits.shift()) {
      wait.fail(this.#services.runtime.asLockError(error, this.#template.lock, 'the attempt'))
    }
  }

  /** One function for all waits, and none for each. */
  readonly #onGiveUp = ({ queuePlace }: CallerWait<HeldLease>): void => {
    if (queuePlace) this.#waits.delete(queuePlace)
    if (this.#waits.size > 0) return
    this.#pending?.stop()
    this.#pending = undefined
  }
}
