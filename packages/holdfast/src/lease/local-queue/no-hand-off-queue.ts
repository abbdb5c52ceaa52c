/**
 * The callers of one client whose leases are never handed on: readers, permit holders, and leases
 * that are not renewed.
 */
import type { ClaimTemplate } from '../runtime/runtime.js'
import type { Services } from '../services.js'
import { ClaimPerCallerQueue } from './claim-per-caller-queue.js'
import type { AwaitedClaim } from '../runtime/open-waits.js'
import type { Grant } from '../grant/grant.js'
import { releaseGrant } from './local-hand-off.js'
import type { HeldLease } from '../hold/held-lease.js'
import type { GrantReturner } from '../release/grant-returner.js'
import { CallerWait, type WaitLimits } from '../wait/caller-wait.js'
import type { ReleaseListener, ReleaseOutcome } from '../release/release-until-answered.js'

export class NoHandOffQueue implements GrantReturner {
  readonly #services: Services
  readonly #template: ClaimTemplate
  readonly #callers: ClaimPerCallerQueue

  constructor(services: Services, template: ClaimTemplate, renews: boolean) {
    this.#services = services
    this.#template = template
    const terms = { renews, tokens: () => 1 }
    this.#callers = new ClaimPerCallerQueue(services, template, terms, this)
  }

  /** Whether no caller of this process waits here. */
  get idle(): boolean {
    return this.#callers.size === 0
  }

  get pending(): AwaitedClaim | undefined {
    return this.#callers.pending
  }

  enter(limits: WaitLimits, nowMs: number, maxHoldMs: number): Promise<HeldLease> {
    const { runtime } = this.#services
    const wait = new CallerWait<HeldLease>(runtime, this.#template.lock, nowMs, limits, maxHoldMs)
    this.#callers.enter(wait)
    return wait.promise
  }

  returnGrant(grant: Grant, nowMs: number, listener?: ReleaseListener): ReleaseOutcome {
    return releaseGrant(this.#services, grant, nowMs, listener)
  }
}
