/**
 * The callers of one process that want one lock for themselves alone, strictly in the order of the
 * store's queue.
 *
 * Each has a claim of its own there. Where the store numbers its queue, and the next in line is a
 * caller of this process as well, a release hands the grant on to it without a call: nobody stands
 * between the two, so nobody is overtaken. The claim of whoever was served like that is withdrawn,
 * in one round trip with the release where the store batches.
 *
 * Those who ask anew in the turn in which the grant went on ask together with the last one of the
 * row, who comes back only when the store has answered to its release. Else it would come to stand
 * behind the callers of other processes, one after each row, until nobody stood next to anybody of
 * its own any more.
 */
import { atTickEndOf } from '../clock/clock.js'
import { LinkedSet, type Place } from '../collections/linked-set.js'
import { CallerQueue, type QueuedCaller } from './caller-queue.js'
import type { LockError } from '../errors.js'
import type { ClaimTemplate } from './runtime.js'
import type { Services } from './services.js'
import { outsideContext } from './async-context.js'
import type { Grant } from './grant.js'
import {
  announceGrant,
  canHandOff,
  handOff,
  HAND_OFFS_IN_A_ROW,
  leaseOn,
  releaseGrant,
} from './hand-off.js'
import type { HeldLease } from './held-lease.js'
import type { GrantReturner } from './hold.js'
import { Wait, type WaitLimits } from './wait.js'
import type { ReleaseOutcome } from './withdrawals.js'

export class FifoQueue implements GrantReturner {
  readonly #services: Services
  readonly #template: ClaimTemplate
  readonly #atTickEnd: (work: () => void) => void
  readonly #queued: CallerQueue
  /** Those who ask when the turn is over. */
  readonly #held = new LinkedSet<Wait<HeldLease>>()
  /**
   * From the first time that the grant goes on in a turn until the turn is over, and the grant is
   * given back.
   */
  #inRow = false
  /** How many releases have no answer yet. */
  #givingBack = 0
  /** Whether several of this process have wanted the lock at once. */
  #crowded = false

  constructor(services: Services, template: ClaimTemplate) {
    this.#services = services
    this.#template = template
    this.#atTickEnd = atTickEndOf(services.runtime.clock)
    const { tokenBlocks } = services.runtime.store.traits
    const terms = {
      renews: true,
      // A block only where several are likely to use it, or the tokens would run ahead of the
      // store's clock.
      tokens: () => (tokenBlocks && this.#crowded ? HAND_OFFS_IN_A_ROW : 1),
    }
    this.#queued = new CallerQueue(services, template, terms, (wait, grant) =>
      this.#serve(wait, grant),
    )
  }

  /** Whether nobody of this process waits here. */
  get idle(): boolean {
    return this.#queued.size === 0 && !this.#inRow
  }

  /**
   * The error of the store, while it is unknown whether the lock is busy: see
   * `PendingClaim.failure`.
   */
  get failure(): LockError | undefined {
    return this.#queued.failure
  }

  enter(limits: WaitLimits, nowMs: number, maxHoldMs: number): Promise<HeldLease> {
    const wait = new Wait<HeldLease>(this.#services.runtime, this.#template.lock, nowMs, maxHoldMs)
    wait.limit(limits)
    this.#crowded ||= !this.idle
    if (this.#inRow) this.#hold(wait)
    else this.#queued.enter(wait)
    return wait.promise
  }

  returnGrant(grant: Grant, nowMs: number): ReleaseOutcome {
    const next = canHandOff(this.#services.runtime, grant, nowMs) ? this.#behind(grant) : undefined
    if (!next) return this.#release(grant, nowMs)
    const { wait, pending: its } = next.value
    grant.queueNumber = its?.queueNumber
    this.#queued.leave(next)
    handOff(this.#services, grant, wait, this, nowMs)
    if (!this.#inRow) {
      this.#inRow = true
      this.#endTickSoon()
    }
    return 'released'
  }

  /**
   * The caller right behind the holder of the grant in the store's queue, if it is of this process.
   */
  #behind(grant: Grant): Place<QueuedCaller> | undefined {
    const { first } = this.#queued
    if (!first || grant.queueNumber === undefined) return undefined
    return first.value.pending?.queueNumber === grant.queueNumber + 1 ? first : undefined
  }

  #release(grant: Grant, nowMs: number): ReleaseOutcome {
    const outcome = releaseGrant(this.#services, grant, nowMs)
    if (this.#inRow && typeof outcome !== 'string') {
      this.#givingBack += 1
      const answered = (): void => {
        this.#givingBack -= 1
        // Whoever is told of the release may ask anew first.
        this.#endTickSoon()
      }
      outcome.then(answered, answered)
    }
    return outcome
  }

  /** In nobody's context: it asks for several callers, and none of them is the one that lets go. */
  #endTickSoon(): void {
    outsideContext(() => this.#atTickEnd(() => this.#endTick()))
  }

  #endTick(): void {
    if (this.#givingBack > 0) return
    this.#inRow = false
    for (let first = this.#held.first; first; first = this.#held.first) {
      this.#held.delete(first)
      this.#queued.enter(first.value)
    }
  }

  #hold(wait: Wait<HeldLease>): void {
    const place = this.#held.add(wait)
    wait.onGiveUp = () => void this.#held.delete(place)
  }

  #serve(wait: Wait<HeldLease>, grant: Grant): void {
    const nowMs = this.#services.runtime.clock.monotonicMs()
    this.#services.renewals.add(grant)
    announceGrant(this.#services.runtime, grant, nowMs - wait.startedMs)
    wait.serve(leaseOn(this.#services, grant, this, nowMs, wait.maxHoldMs))
  }
}
