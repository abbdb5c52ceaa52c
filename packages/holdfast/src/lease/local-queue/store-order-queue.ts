/**
 * The callers of one process that want exclusive use of one lock, in the order of the store's
 * queue.
 *
 * Each caller has a claim of its own there. Where the store numbers its queue, a release may hand
 * the grant off without a call to the store. It does so if the next claim is of this process too.
 * No claim stands between the two, so no claim is overtaken. The claim of the caller that was
 * served like that is withdrawn, in one round trip with the release where the store batches.
 *
 * Callers that re-acquire during a row of hand-offs are held back until the row's last release is
 * acknowledged, and then queue together. Otherwise the last caller would queue one round trip
 * later, behind other processes, and rows would shrink to length one.
 */
import { atTickEndOf } from '../../clock/clock.js'
import { LinkedSet, type Place } from '../../collections/linked-set.js'
import { ClaimPerCallerQueue, type QueuedCaller } from './claim-per-caller-queue.js'
import { invariant } from '../../invariant.js'
import type { AwaitedClaim } from '../runtime/open-waits.js'
import type { ClaimTemplate } from '../runtime/runtime.js'
import type { Services } from '../services.js'
import { outsideContext } from '../../async/async-context.js'
import type { Grant } from '../grant/grant.js'
import { canHandOff, handOff, HAND_OFFS_IN_A_ROW, releaseGrant } from './local-hand-off.js'
import type { HeldLease } from '../hold/held-lease.js'
import type { GrantReturner } from '../release/grant-returner.js'
import { CallerWait, type WaitLimits } from '../wait/caller-wait.js'
import type { ReleaseListener, ReleaseOutcome } from '../release/release-until-answered.js'

export class StoreOrderQueue implements GrantReturner {
  readonly #services: Services
  readonly #template: ClaimTemplate
  readonly #atTickEnd: (work: () => void) => void
  readonly #queued: ClaimPerCallerQueue
  /** Callers that queue when the row is over. */
  readonly #held = new LinkedSet<CallerWait<HeldLease>>()
  /**
   * Whether a row of hand-offs runs: from the first hand-off in a tick until the tick is over and
   * the store has answered the releases.
   */
  #inRow = false
  /** How many releases of the row have no answer yet. */
  #openReleases = 0
  /** Whether several callers of this process have wanted the lock at once. */
  #crowded = false

  constructor(services: Services, template: ClaimTemplate) {
    this.#services = services
    this.#template = template
    this.#atTickEnd = atTickEndOf(services.runtime.clock)
    const { tokenBlocks } = services.runtime.store.traits
    const terms = {
      renews: true,
      // A block only where several callers are likely to use it, or the tokens would run ahead of
      // the store's clock.
      tokens: () => (tokenBlocks && this.#crowded ? HAND_OFFS_IN_A_ROW : 1),
    }
    this.#queued = new ClaimPerCallerQueue(services, template, terms, this)
  }

  /** Whether no caller waits here. */
  get idle(): boolean {
    return this.#queued.size === 0 && !this.#inRow
  }

  get pending(): AwaitedClaim | undefined {
    return this.#queued.pending
  }

  enter(limits: WaitLimits, nowMs: number, maxHoldMs: number): Promise<HeldLease> {
    const { runtime } = this.#services
    const wait = new CallerWait<HeldLease>(runtime, this.#template.lock, nowMs, limits, maxHoldMs)
    this.#crowded ||= !this.idle
    if (this.#inRow) this.#hold(wait)
    else this.#queued.enter(wait)
    return wait.promise
  }

  returnGrant(grant: Grant, nowMs: number, listener?: ReleaseListener): ReleaseOutcome {
    const next = canHandOff(this.#services.runtime, grant, nowMs) ? this.#behind(grant) : undefined
    if (!next) return this.#release(grant, nowMs, listener)
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
   * Returns the caller right behind the grant in the store's queue, if it is of this process.
   */
  #behind(grant: Grant): Place<QueuedCaller> | undefined {
    const { first } = this.#queued
    if (!first || grant.queueNumber === undefined) return undefined
    return first.value.pending?.queueNumber === grant.queueNumber + 1 ? first : undefined
  }

  #release(grant: Grant, nowMs: number, listener: ReleaseListener | undefined): ReleaseOutcome {
    const outcome = releaseGrant(this.#services, grant, nowMs, listener)
    if (this.#inRow && typeof outcome !== 'string') {
      this.#openReleases += 1
      const answered = (): void => {
        this.#openReleases -= 1
        invariant(this.#openReleases >= 0, 'a release of a row is answered once')
        // The caller of the release may acquire again first.
        this.#endTickSoon()
      }
      outcome.then(answered, answered)
    }
    return outcome
  }

  /** Outside of every context: it starts the claims of several callers. */
  #endTickSoon(): void {
    outsideContext(() => this.#atTickEnd(() => this.#endTick()))
  }

  #endTick(): void {
    if (this.#openReleases > 0) return
    this.#inRow = false
    for (let wait = this.#held.shift(); wait; wait = this.#held.shift()) this.#queued.enter(wait)
  }

  #hold(wait: CallerWait<HeldLease>): void {
    const place = this.#held.add(wait)
    wait.onGiveUp = () => void this.#held.delete(place)
  }
}
