/** A lease: what user code may ask about its hold on a lock, and do with it. */
import { checkNoOptions } from '../../options/known-keys.js'
import { invariant } from '../../invariant.js'
import { INSPECT } from '../../store/with-json.js'
import { runUnder, type Enterable } from '../nesting/run-frames.js'
import { Hold } from './hold.js'
import type { LeaseNote } from './lease-note.js'
import { endsWithHolder } from '../release/stay-taken.js'
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
    const wholeMs = ms + this.grant.askedTtlMs / 3
    if (this.remainingMs < wholeMs) await this.services.renewals.renewNow(this.grant)
    this.abortEarly(ms)
    if (this.open) return true
    await this.releaseQuietly()
    return false
  }

  async ensure(ms: number, extra?: unknown): Promise<void> {
    this.#checkNoOptions('ensure', extra)
    const { checkEnsure, ENSURE_TRIES, tooSlow } = await import('./lease-terms.js')
    this.assertNotOver()
    checkEnsure(this.services.runtime, this.grant, this.endsMs, ms)
    for (let tries = 0; this.remainingMs < ms; tries += 1) {
      if (tries === ENSURE_TRIES) throw tooSlow(this.services.runtime, this.name, ms)
      await this.renew()
    }
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
    const { assertDowngradable } = await import('./lease-terms.js')
    this.assertNotOver()
    const { grant, name, kind } = this
    const { runtime, renewals } = this.services
    assertDowngradable(runtime.store, name, kind)
    // Before the answer, which may be lost: no other caller of this process may get as a writer
    // what the store holds for a reader.
    grant.weight = 1
    try {
      if (!(await runtime.store.downgrade(grant.claim))) renewals.lose(grant, 'expired')
    } catch (error) {
      throw runtime.asLockError(error, name, 'the downgrade')
    }
    this.assertNotOver()
    grant.claim = { ...grant.claim, weight: 1 }
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
    const { grant, services, token } = this
    const { clock, store } = services.runtime
    // A pushed grant has a short TTL until its first renewal.
    if (grant.renewing === 'once') await this.renew()
    if (endsWithHolder(store)) {
      const { detachClaim } = await import('../adopt/export-and-adopt.js')
      const sentMs = clock.monotonicMs()
      grant.claim = await detachClaim(services, grant, token)
      grant.extend(sentMs, services.runtime.clockOffsetMs(sentMs), true)
    }
    grant.keptUntilMs = clock.monotonicMs() + ms
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
