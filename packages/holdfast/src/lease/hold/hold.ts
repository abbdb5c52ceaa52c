/**
 * One caller's hold on a grant: its end by release, loss or `maxHoldMs`, and the callbacks that run
 * under it. `HeldLease` adds what user code may ask, such as whether it is still held.
 */
import type { OpenCalls } from '../../async/keep-alive.js'
import { LockLostError, type LossDetails, type LossReason } from '../../errors.js'
import type { Place } from '../../collections/linked-set.js'
import { invariant } from '../../invariant.js'
import type { LockKind, Renewal, WaitNote } from '../../store/contract.js'
import { DeadlineTimer } from '../../clock/deadline-timer.js'
import { EndListeners } from './end-listeners.js'
import { channels } from '../runtime/events.js'
import { isTraced, traceRelease } from '../runtime/traces.js'
import { ANNOUNCE_EARLY_MS } from '../grant/deadline.js'
import { quietly } from '../release/quietly.js'
import type { Grant } from '../grant/grant.js'
import { RunningCallbacks } from './running-callbacks.js'
import type { OpenLease, Services } from '../services.js'
import { WeakLease, type Forgettable } from './forgotten-leases.js'
import type { GrantReturner } from '../release/grant-returner.js'
import type { ReleaseListener, ReleaseOutcome } from '../release/release-until-answered.js'

/** Leaves the error of a release to the caller of `release`, which gets it as well. */
function leaveToCaller(): void {}

export class Hold implements Forgettable, ReleaseListener {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare readonly token: bigint
  /** When it ends at the latest, if that is limited: see `endsMs`. */
  declare private readonly limitMs: number | undefined
  declare readonly services: Services
  declare readonly grant: Grant
  declare private place: Place<OpenLease>
  declare private readonly returner: GrantReturner
  declare private readonly startedMs: number
  /** When it was released. */
  declare private releasedMs: number | undefined
  declare protected lost: LockLostError | undefined
  declare protected outcome: ReleaseOutcome | undefined
  /** How it left its holder otherwise than by a release or a loss. */
  declare protected fate: 'abandoned' | 'exported' | undefined
  declare protected listeners: EndListeners | undefined
  declare private callbacks: RunningCallbacks | undefined
  /** Where it was acquired, if the client traces that. */
  declare acquiredAt: string | undefined
  /** Stands in for this lease, so that user code may forget it. */
  declare protected weak: WeakLease | undefined

  constructor(
    services: Services,
    grant: Grant,
    nowMs: number,
    maxHoldMs: number,
    returner: GrantReturner,
  ) {
    invariant(grant.holder === undefined, 'a grant has one holder at a time', grant.claim.lock)
    this.services = services
    this.grant = grant
    this.token = grant.token
    this.startedMs = nowMs
    this.limitMs = maxHoldMs === Infinity ? undefined : nowMs + maxHoldMs
    this.returner = returner
    grant.holder = this
    services.renewals.helper?.limit(grant, this.endsMs)
    this.place = services.leases.add(this)
    this.lost = this.outcome = this.fate = this.listeners = undefined
    this.callbacks = this.weak = this.releasedMs = undefined
    if (maxHoldMs !== Infinity) this.watchMaxHold()
  }

  get name(): string {
    return this.grant.claim.lock
  }

  get endsMs(): number {
    return this.limitMs ?? Infinity
  }

  get claimId(): string {
    return this.grant.claim.id
  }

  get store(): object {
    return this.services.runtime.store
  }

  get runs(): OpenCalls {
    return this.services.runtime.runs
  }

  get weight(): number {
    return this.grant.weight
  }

  get kind(): LockKind {
    return this.grant.claim.kind
  }

  get capacity(): number {
    return this.grant.claim.capacity
  }

  get exclusive(): boolean {
    return this.weight === this.capacity
  }

  get open(): boolean {
    return this.lost === undefined && this.outcome === undefined
  }

  endListeners(): EndListeners {
    return (this.listeners ??= new EndListeners())
  }

  /** Watches the end of the lease for a signal that aborts early. The end may have come nearer. */
  watchEnd(): void {
    if (this.open) this.listeners?.watchEnd()
  }

  get isInUse(): boolean {
    return this.listeners?.signal !== undefined || this.busy
  }

  /** From now on user code may forget it. */
  onAge(): void {
    if (this.mayBeForgotten) this.weaken()
  }

  private get mayBeForgotten(): boolean {
    return this.open && !this.isInUse && this.grant.holder === this
  }

  private weaken(): void {
    const { services, grant } = this
    services.leases.delete(this.place)
    this.weak = new WeakLease(this, services, grant, this.returner)
    this.place = this.weak.place
    grant.holder = this.weak
    if (!this.listeners?.maxHold) return
    this.listeners.maxHold.cancel()
    this.listeners.maxHold = this.weak.watchMaxHold(this.endsMs - ANNOUNCE_EARLY_MS)
  }

  /** Returns the loss for the caller, who may have met another error meanwhile. */
  lossError(cause?: unknown): LockLostError {
    const { clock } = this.services.runtime
    const isOverstayed = clock.monotonicMs() >= this.endsMs
    const reason = this.lost?.reason ?? (isOverstayed ? 'max-hold' : 'deadline')
    const { stealReason } = this.lost ?? {}
    return this.lossOf(reason, { cause, stealReason })
  }

  private lossOf(reason: LossReason, more: Partial<LossDetails> = {}): LockLostError {
    const { name: lock, grant, services } = this
    const details = { lock, store: services.runtime.store.name, ttlMs: grant.askedTtlMs }
    return new LockLostError(reason, { ...details, ...more })
  }

  /** `release` without a promise where none is needed. */
  return(): ReleaseOutcome {
    if (this.outcome !== undefined) return this.outcome
    if (!isTraced.release()) return this.giveBack()
    const outcome = traceRelease(this.services.runtime, this, () => this.giveBack())
    outcome.catch(leaveToCaller)
    return outcome
  }

  private giveBack(): ReleaseOutcome {
    this.services.renewals.catchUp()
    this.listeners?.stopTimers()
    this.services.leases.delete(this.place)
    if (this.lost) return this.returnLost(this.lost)
    const nowMs = this.services.runtime.clock.monotonicMs()
    const lateness = this.lateness(nowMs)
    const { grant } = this
    const isHolder = grant.holder === (this.weak ?? this)
    invariant(isHolder, 'only the holder of a grant returns it', grant.claim.lock)
    grant.holder = undefined
    this.releasedMs = nowMs
    const outcome = this.returner.returnGrant(grant, nowMs, this)
    this.outcome = lateness ? 'lost' : outcome
    if (lateness) this.noteLateLoss(lateness, nowMs)
    // Its caller gets the loss, and not this promise.
    if (lateness && typeof outcome !== 'string') outcome.catch(leaveToCaller)
    this.listeners?.onOver?.()
    if (typeof outcome === 'string') this.onReleased(outcome)
    return this.outcome
  }

  /** Ends the lease here: the store holds the lock under a claim of its own from now on. */
  endExported(): void {
    invariant(this.open, 'a lease that has ended is not exported', this.name)
    const { grant, services } = this
    this.fate = 'exported'
    this.outcome = 'lost'
    this.listeners?.stopTimers()
    services.leases.delete(this.place)
    services.renewals.remove(grant)
    grant.state = 'released'
    grant.holder = undefined
    grant.queue?.onLoss(grant)
    this.listeners?.onOver?.()
    const durationMs = services.runtime.clock.monotonicMs() - this.startedMs
    services.runtime.announce('exported', grant.claim, { durationMs })
  }

  /** Releases for a caller whose own outcome matters more: a failure goes to the events. */
  releaseQuietly(): Promise<unknown> | undefined {
    return quietly(this.services.runtime, this.grant.claim, () => this.return())
  }

  /** Why it had ended by the clock before it was returned. */
  protected lateness(nowMs: number): 'max-hold' | 'deadline' | undefined {
    if (nowMs >= this.endsMs) return 'max-hold'
    return nowMs >= this.grant.deadlineMs ? 'deadline' : undefined
  }

  /** @param outcome the store's answer; the clock may have said otherwise before */
  onReleased(outcome: 'released' | 'lost'): void {
    const { services, grant, startedMs, releasedMs = startedMs } = this
    if (outcome === 'lost' && !this.lost) this.noteLateLoss('expired', releasedMs)
    if (!channels.released.hasSubscribers) return
    const durationMs = releasedMs - startedMs
    const result = this.lost ? 'lost' : outcome
    services.runtime.announce('released', grant.claim, { outcome: result, durationMs })
  }

  /**
   * Notes a loss that the release found. A holder that blocked the event loop past the deadline
   * releases before the timer of the deadline runs. That timer no longer watches the grant.
   */
  private noteLateLoss(reason: LossReason, nowMs: number): void {
    this.lost = this.lossOf(reason)
    this.announceLoss(reason, nowMs)
    this.listeners?.abort(this.lost)
  }

  private announceLoss(reason: LossReason, nowMs: number): void {
    const { services, grant } = this
    const durationMs = nowMs - this.startedMs
    services.runtime.announce('lost', grant.claim, { reason, durationMs })
  }

  /** Ends the lease, since its grant is lost. */
  onLoss(error: LockLostError): void {
    // Nothing is left to release, so a lease that is never released must not be remembered.
    const isOver = error.reason === 'deadline' || error.reason === 'expired'
    if (isOver && !this.busy) this.services.leases.delete(this.place)
    if (!this.open) return
    this.lost = error
    this.listeners?.stopTimers()
    this.listeners?.abort(error)
    this.listeners?.onOver?.()
  }

  /** Frees a stolen or overstayed lock now that its holder let go. */
  private returnLost({ reason }: LockLostError): 'lost' {
    const { runtime, withdrawals } = this.services
    this.outcome = 'lost'
    if (reason === 'stolen') withdrawals.inBackground(this.grant.claim)
    if (reason === 'max-hold' && this.grant.isOpen) {
      const nowMs = runtime.clock.monotonicMs()
      void quietly(runtime, this.grant.claim, () => this.returner.returnGrant(this.grant, nowMs))
    }
    return 'lost'
  }

  private watchMaxHold(): void {
    const { clock } = this.services.runtime
    const atMs = this.endsMs - ANNOUNCE_EARLY_MS
    this.endListeners().maxHold = new DeadlineTimer(clock, atMs, () => this.overstay())
  }

  /** Ends the lease and its renewals. The lock is free when the holder lets go or the TTL ends. */
  overstay(): void {
    const { runtime, renewals } = this.services
    renewals.stopRenewing(this.grant)
    if (this.grant.isOpen) this.grant.state = 'overstayed'
    this.announceLoss('max-hold', runtime.clock.monotonicMs())
    this.onLoss(this.lossOf('max-hold'))
  }

  /** A transaction under it may still commit: only the store gives the lock to the next caller. */
  requireStoreRelease(): void {
    this.grant.storeOnly = 'commit-pending'
  }

  noteWaits(waits: readonly WaitNote[]): Renewal | undefined {
    return this.open && this.grant.isOpen ? this.grant.noteWaits(waits) : undefined
  }

  verifySoon(): void {
    if (this.open) this.services.renewals.renewSoon(this.grant)
  }

  beginCallback(): number {
    this.weak?.keep(this)
    const callbacks = (this.callbacks ??= new RunningCallbacks())
    return callbacks.begin()
  }

  endCallback(callback: number): void {
    this.callbacks?.end(callback)
    // A fixed lease has no renewal at which it would be looked at again: see `GrantHolder.onAge`.
    if (!this.busy && this.open && (this.weak || this.grant.isAged)) this.grant.holder?.onAge()
  }

  get busy(): boolean {
    return this.callbacks !== undefined && this.callbacks.size > 0
  }

  async idle(): Promise<void> {
    await this.callbacks?.settled()
  }

  /** Resolves when no callback runs under it any more, or when it is over. */
  async whenCallbacksSettled(): Promise<void> {
    if (!this.busy || !this.open) return
    const over = new Promise<void>((resolve) => (this.endListeners().onOver = resolve))
    await Promise.race([this.callbacks?.idle(), over])
  }

  askToStop(reason: unknown): void {
    const listeners = this.endListeners()
    listeners.stopReason = reason
    listeners.abort(reason)
  }

  abandon(): void {
    this.services.leases.delete(this.place)
    this.fate = 'abandoned'
    this.services.renewals.stopRenewing(this.grant)
  }
}
