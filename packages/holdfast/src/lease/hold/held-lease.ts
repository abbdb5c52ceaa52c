/** A lease: what user code may ask about its hold on a lock, and do with it. */
import { checkNoOptions } from '../../options/known-keys.js'
import { invariant } from '../../invariant.js'
import { INSPECT } from '../../store/with-json.js'
import { runUnder, type Enterable } from '../nesting/run-frames.js'
import { Hold } from './hold.js'
import type { LeaseNote } from './lease-note.js'
import type { Lease, RenewOptions, WriteLease } from './lease.js'

/** The largest time of a `Date`. */
const LAST_DATE_MS = 8.64e15

export class HeldLease extends Hold implements WriteLease {
  get remainingMs(): number {
    if (!this.held) return 0
    const endsMs = Math.min(this.grant.deadlineMs, this.endsMs)
    return Math.max(0, endsMs - this.services.runtime.clock.monotonicMs())
  }

  async renew(options?: RenewOptions): Promise<void> {
    if (options !== undefined) await this.#changeTtl(options)
    this.assertNotOver()
    const result = await this.services.renewals.renewNow(this.grant)
    if (result.outcome === 'unknown') throw result.cause
    this.assertNotOver()
  }

  async #changeTtl(options: RenewOptions): Promise<void> {
    const { changeTtl } = await import('./lease-terms.js')
    this.assertNotOver()
    changeTtl(this.services.runtime, this.grant, options)
    this.watchEnd()
  }

  /**
   * Lets the signal abort this long before the lease ends. First renews a grant that is too short
   * for that, such as a pushed one. Resolves to false when the store no longer holds it.
   */
  async abortBefore(ms: number): Promise<boolean> {
    const { EarlyAbort } = await import('./early-abort.js')
    const { services, grant } = this
    const wholeMs = ms + grant.askedTtlMs / 3
    if (this.remainingMs < wholeMs) await services.renewals.renewNow(grant)
    const listeners = this.endListeners()
    const abort = (reason: unknown): void => listeners.abort(reason)
    listeners.earlyAbort = new EarlyAbort(services.runtime, grant, this.endsMs, ms, abort)
    this.watchEnd()
    if (this.open) return true
    await this.releaseQuietly()
    return false
  }

  async ensure(ms: number, extra?: unknown): Promise<void> {
    this.#checkNoOptions('ensure', extra)
    const { ensureLasts } = await import('./lease-terms.js')
    this.assertNotOver()
    await ensureLasts(this, this.services.runtime, this.grant, ms)
  }

  async annotate(note: LeaseNote): Promise<void> {
    const { checkNote } = await import('./lease-note.js')
    this.assertNotOver()
    const checked = checkNote(note)
    this.grant.describeAs({ ...this.grant.claim.owner, ...checked })
    await this.renew()
  }

  async downgrade(extra?: unknown): Promise<void> {
    this.#checkNoOptions('downgrade', extra)
    const { downgradeGrant } = await import('./lease-terms.js')
    this.assertNotOver()
    await downgradeGrant(this.services, this.grant)
    this.assertNotOver()
    this.grant.claim = { ...this.grant.claim, weight: 1 }
  }

  async export(extra?: unknown): Promise<string> {
    this.#checkNoOptions('export', extra)
    const { runtime, renewals } = this.services
    const { assertAdopts, detachGrant } = await import('../adopt/export-and-adopt.js')
    assertAdopts(runtime, this.name)
    // With a whole TTL, and with no renewal in flight, which would find the claim lost.
    await this.renew()
    renewals.stopRenewing(this.grant)
    const handle = await detachGrant(this.services, this.grant, this.token ?? 0n)
    if (this.open) this.endExported()
    return handle
  }

  /**
   * Makes the lock stay taken for `ms` from now on, also after a release or the end of this
   * process. Its TTL has to be longer.
   */
  async keepTaken(ms: number): Promise<void> {
    const { keepTaken } = await import('../adopt/export-and-adopt.js')
    // A pushed grant has a short TTL until its first renewal.
    if (this.grant.renewing === 'once') await this.renew()
    await keepTaken(this.services, this.grant, this.token, ms)
  }

  /** Lets a release free the lock at once again. */
  stopKeeping(): void {
    this.grant.keptUntilMs = 0
  }

  override assertHeld(extra?: unknown): void {
    if (extra !== undefined) this.#checkNoOptions('assertHeld', extra)
    super.assertHeld()
  }

  #checkNoOptions(call: string, extra: unknown): void {
    checkNoOptions(call, extra, { lock: this.name })
  }

  release(extra?: unknown): Promise<'released' | 'lost'> {
    try {
      if (extra !== undefined) this.#checkNoOptions('release', extra)
      return Promise.resolve(this.return())
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async run<T>(work: (lease: Lease) => T | PromiseLike<T>, extra?: unknown): Promise<T> {
    this.#checkNoOptions('run of a lease', extra)
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
