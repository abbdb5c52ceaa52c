/**
 * Finds leases that user code has forgotten: it dropped them without a release. The lock stays
 * taken until the lease ends, and a lease that is renewed lasts forever.
 *
 * An acquire pays nothing for that. At a third of the TTL the client puts a stand-in with a weak
 * reference in the place of the lease. When the lease is garbage-collected, the client announces it
 * and changes nothing: collection says nothing about work that still runs.
 */
import type { LockKind } from '../../store/contract.js'
import type { Place } from '../../collections/linked-set.js'
import type { Grant, GrantHolder } from '../grant/grant.js'
import { DeadlineTimer } from '../../clock/deadline-timer.js'
import type { Runtime } from '../runtime/runtime.js'
import type { OpenLease, Services } from '../services.js'
import { quietly } from '../release/quietly.js'
import type { ReleaseOutcome } from '../release/release-until-answered.js'

/** A lease that may be forgotten. */
export interface Forgettable extends GrantHolder, OpenLease {
  /** Where it was acquired, if the client traces that. */
  readonly acquiredAt: string | undefined
  /** Whether a callback runs under it, or user code has its signal. */
  readonly isInUse: boolean
  /** Ends the lease, which has reached `maxHoldMs`. */
  overstay(): void
}

interface Returner {
  returnGrant(grant: Grant, nowMs: number): ReleaseOutcome
}

let registry: FinalizationRegistry<WeakLease> | undefined

/** Stands in for a lease, and does not keep it from being garbage-collected. */
export class WeakLease implements GrantHolder, OpenLease {
  readonly name: string
  readonly claimId: string
  readonly exclusive: boolean
  readonly acquiredAt: string | undefined
  readonly endsMs: number
  readonly place: Place<OpenLease>
  readonly #lease: WeakRef<Forgettable>
  /** The lease while it is in use. */
  #kept: Forgettable | undefined
  readonly #services: Services
  readonly #grant: Grant
  readonly #returner: Returner

  constructor(lease: Forgettable, services: Services, grant: Grant, returner: Returner) {
    this.name = lease.name
    this.claimId = lease.claimId
    this.exclusive = lease.exclusive
    this.endsMs = lease.endsMs
    this.#lease = new WeakRef(lease)
    this.#services = services
    this.#grant = grant
    this.#returner = returner
    this.acquiredAt = lease.acquiredAt
    this.place = services.leases.add(this)
    registry ??= new FinalizationRegistry((forgotten) => forgotten.#announce())
    registry.register(lease, this)
  }

  /** Keeps the lease, which is in use from now on. */
  keep(lease: Forgettable): void {
    this.#kept = lease
  }

  get kind(): LockKind {
    return this.#grant.claim.kind
  }

  onAge(): void {
    if (this.#kept?.isInUse !== true) this.#kept = undefined
  }

  /** Watches `maxHoldMs` without a reference to the lease. */
  watchMaxHold(atMs: number): DeadlineTimer {
    return new DeadlineTimer(this.#services.runtime.clock, atMs, () => {
      const lease = this.#lease.deref()
      if (lease) lease.overstay()
      else this.#overstay()
    })
  }

  /** As for a lease that user code still has: the lock is free when the TTL ends. */
  #overstay(): void {
    const { runtime, renewals } = this.#services
    const grant = this.#grant
    if (grant.holder !== this || grant.state !== 'held') return
    renewals.stopRenewing(grant)
    grant.state = 'overstayed'
    const durationMs = runtime.clock.monotonicMs() - grant.grantedMs
    runtime.announce('lost', grant.claim, { reason: 'max-hold', durationMs })
  }

  onLoss(error: Parameters<GrantHolder['onLoss']>[0]): void {
    const lease = this.#lease.deref()
    if (lease) lease.onLoss(error)
    else this.#services.leases.delete(this.place)
  }

  get busy(): boolean {
    return this.#lease.deref()?.busy ?? false
  }

  async idle(): Promise<void> {
    await this.#lease.deref()?.idle()
  }

  askToStop(reason: unknown): void {
    this.#lease.deref()?.askToStop(reason)
  }

  abandon(): void {
    const lease = this.#lease.deref()
    if (lease) lease.abandon()
    else this.#services.renewals.stopRenewing(this.#grant)
  }

  verifySoon(): void {
    if (this.#grant.isOpen) this.#services.renewals.renewSoon(this.#grant)
  }

  async releaseQuietly(): Promise<void> {
    const lease = this.#lease.deref()
    if (lease) {
      await lease.releaseQuietly()
      return
    }
    const { runtime, leases } = this.#services
    if (!leases.delete(this.place) || !this.#grant.isOpen) return
    this.#grant.holder = undefined
    const nowMs = runtime.clock.monotonicMs()
    await quietly(runtime, this.#grant.claim, () => this.#returner.returnGrant(this.#grant, nowMs))
  }

  /** The lease was garbage-collected. It is forgotten unless it had ended before. */
  #announce(): void {
    const { state, holder, deadlineMs } = this.#grant
    const { runtime } = this.#services
    const nowMs = runtime.clock.monotonicMs()
    if (holder !== this || state !== 'held' || nowMs >= Math.min(deadlineMs, this.endsMs)) return
    announceForgotten(runtime, this.#grant, nowMs, this.acquiredAt)
  }
}

let hasWarned = false

/**
 * Announces a forgotten lease: an event, and the first time a warning.
 * @param acquiredAt where it was acquired, if the client traces that
 */
function announceForgotten(
  runtime: Runtime,
  { claim, grantedMs, renewing }: Grant,
  nowMs: number,
  acquiredAt: string | undefined,
): void {
  const durationMs = nowMs - grantedMs
  runtime.announce('forgotten', claim, { durationMs, ...(acquiredAt && { acquiredAt }) })
  if (hasWarned) return
  hasWarned = true
  process.emitWarning(
    `The lease on "${claim.lock}" (claim ${claim.id}) was garbage-collected while it was held, and ${renewing === 'regular' ? 'is still renewed' : 'keeps the lock until it ends'}. ` +
      `Release it, or use run. ${acquiredAt ?? 'traceAcquires: true shows where it was acquired.'}`,
    { type: 'HoldfastWarning', code: 'LEASE_FORGOTTEN' },
  )
}
