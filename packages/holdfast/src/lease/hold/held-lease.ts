/** A lease: what user code may ask about its hold on a lock, and do with it. */
import { forOneCaller, rejectForCallers, withCallerFrames } from '../../async/caller-frames.js'
import { storeCall } from '../../async/keep-alive.js'
import { LockUsageError } from '../../errors.js'
import { checkNoOptions } from '../../options/known-keys.js'
import { noFunction } from '../../options/no-function.js'
import { exportLease } from '../adopt/export-and-adopt.js'
import { invariant } from '../../invariant.js'
import { INSPECT } from '../../store/with-json.js'
import { runUnder, type Enterable } from '../nesting/run-frames.js'
import { tracedRun } from '../runtime/traces.js'
import { Hold } from './hold.js'
import { annotate, type LeaseNote } from './lease-note.js'
import { changeTtl, downgrade, ensureLasts } from './lease-terms.js'
import type { Lease, RenewOptions, WriteLease } from './lease.js'

/** The largest time of a `Date`. */
const LAST_DATE_MS = 8.64e15

export class HeldLease extends Hold implements WriteLease, Enterable {
  /** Whether a transaction runs under it, or did. Only `coverTransaction` adds the field. */
  declare private isCovering: true | undefined

  get held(): boolean {
    const { runtime, renewals } = this.services
    renewals.catchUp()
    if (!this.open) return false
    const nowMs = runtime.clock.monotonicMs()
    if (nowMs >= this.endsMs) return false
    const { grant } = this
    const offsetMs = runtime.clockOffsetMs(nowMs)
    const isAlive = grant.isAlive(nowMs, offsetMs)
    // The clocks parted but the deadline has not come: the store's answer decides.
    if (isAlive ? grant.isInDoubtSoon(offsetMs) : grant.isOpen && nowMs < grant.deadlineMs)
      renewals.settleDoubt(grant)
    return isAlive
  }

  get signal(): AbortSignal {
    this.weak?.keep(this)
    const listeners = this.endListeners()
    if (listeners.signal) return listeners.signal
    const signal = listeners.makeSignal(this.lost ?? listeners.stopReason)
    this.watchEnd()
    return signal
  }

  get remainingMs(): number {
    if (!this.held) return 0
    const { runtime } = this.services
    const nowMs = runtime.clock.monotonicMs()
    const heldUntilMs = this.grant.heldUntilMs(runtime.clockOffsetMs(nowMs))
    return Math.max(0, Math.min(heldUntilMs, this.endsMs) - nowMs)
  }

  async renew(options?: RenewOptions): Promise<void> {
    if (options !== undefined) changeTtl(this, options)
    this.assertNotOver()
    const result = await this.services.renewals.renewNow(this.grant)
    if (result.outcome === 'unknown') throw withCallerFrames(forOneCaller(result.cause))
    this.assertNotOver()
  }

  async ensure(ms: number, extra?: unknown): Promise<void> {
    return ensureLasts(this, ms, extra)
  }

  async annotate(note: LeaseNote): Promise<void> {
    return annotate(this, note)
  }

  async downgrade(extra?: unknown): Promise<void> {
    return storeCall(downgrade(this, extra))
  }

  async export(extra?: unknown): Promise<string> {
    return storeCall(exportLease(this, extra))
  }

  /** From now on the lease is not exported: an adopter would work before the commit. */
  coverTransaction(): void {
    this.isCovering = true
  }

  get coversTransaction(): boolean {
    return this.isCovering === true
  }

  assertHeld(extra?: unknown): void {
    if (extra !== undefined) this.#checkNoOptions('assertHeld', extra)
    if (this.held) return
    this.#assertNotReleased()
    throw this.lossError()
  }

  /** @throws LockLostError or LockUsageError when it has ended. */
  assertNotOver(): void {
    this.services.renewals.catchUp()
    if (this.lost) throw this.lossError()
    this.#assertNotReleased()
    const { runtime } = this.services
    if (this.fate === 'abandoned') runtime.assertOpen(this.name)
    if (this.lateness(runtime.clock.monotonicMs())) throw this.lossError()
  }

  #assertNotReleased(): void {
    if (this.lost || this.outcome === undefined) return
    const advice =
      this.fate === 'exported'
        ? 'was exported: the process that adopts its handle holds the lock.'
        : 'was released already; acquire the lock again.'
    throw new LockUsageError(`The lease on "${this.name}" ${advice}`, {
      lock: this.name,
      store: this.services.runtime.store.name,
    })
  }

  endedEarly(): false | Promise<boolean> {
    return this.outcome === undefined && !this.held && this.#hasEnded()
  }

  async #hasEnded(): Promise<boolean> {
    // Only the clocks disagree: ask, and let the answer decide.
    const { runtime, renewals } = this.services
    const endMs = Math.min(this.grant.deadlineMs, this.endsMs)
    if (this.open && this.grant.isOpen && runtime.clock.monotonicMs() < endMs)
      await renewals.renewNow(this.grant)
    return !this.held
  }

  #checkNoOptions(call: string, extra: unknown): void {
    checkNoOptions(call, extra, { lock: this.name })
  }

  release(extra?: unknown): Promise<'released' | 'lost'> {
    try {
      if (extra !== undefined) this.#checkNoOptions('release', extra)
      const isFirst = this.outcome === undefined
      const outcome = this.return()
      if (typeof outcome === 'string') return Promise.resolve(outcome)
      // The first one rejects for its caller already.
      return isFirst ? outcome : outcome.catch(rejectForCallers)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async run<T>(work: (lease: Lease) => T | PromiseLike<T>, extra?: unknown): Promise<T> {
    this.#checkNoOptions('run of a lease', extra)
    const { name: lock } = this
    if (typeof work !== 'function')
      throw noFunction(`run of the lease on "${lock}"`, work, { lock })
    const callback = tracedRun(this.services.runtime, this, () => work(this))
    return runUnder(this.services, this, callback)
  }

  /** Runs `work` under the lease, as a part of a callback that runs under it already. */
  enter<T>(work: (lease: HeldLease) => T | PromiseLike<T>): Promise<T> {
    return runUnder(this.services, this, () => work(this))
  }

  /** Returns what `JSON.stringify` writes: the token as a decimal string, the end in ISO format. */
  toJSON(): object {
    const { name, claimId, held, remainingMs } = this
    const endMs = this.services.runtime.clock.wallMs() + remainingMs
    const ends = held && endMs < LAST_DATE_MS ? { endsAt: new Date(endMs).toISOString() } : {}
    return { name, claimId, token: String(this.token), held, remainingMs, ...ends }
  }

  [INSPECT](): object {
    return this.toJSON()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.releaseQuietly()
  }
}

/** Returns a lease with the members that users do not see. Each lease of a lock has them. */
export function asHeldLease(lease: Lease | Enterable): HeldLease {
  invariant(lease instanceof HeldLease, 'a lease comes from a lock of this library', lease.name)
  return lease
}
