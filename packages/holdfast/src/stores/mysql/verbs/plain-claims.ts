/**
 * The claims and locks whose requests may be plain statements.
 *
 * A plain release leaves no tombstone, since that costs as much as the release itself. So nothing
 * of its claim may arrive after it: only a claim qualifies whose one attempt was plain, and was
 * answered. A claim with any other attempt leaves a tombstone. The client remembers the claims that
 * it released plainly, and refuses them itself for their TTL.
 *
 * A plain statement that does nothing costs a round trip more. So it is only sent for a lock that
 * the last claim of this client found free.
 */
import type { Clock } from '../../../clock/clock.js'
import { OldestKeys } from '../../../collections/oldest-keys.js'
import { ClaimsInDoubt } from '../../../in-doubt/claims-in-doubt.js'
import type { ClaimRef } from '../../../store/contract.js'

/** How many claims and how many locks are remembered. */
const KEPT = 10_000
/** An attempt is assumed to arrive within this number of its TTLs. */
const KEPT_TTLS = 3

export class PlainClaims {
  readonly #clock: Clock
  /** The keys of claims, here and below. With a plain attempt on its way, and no other one. */
  readonly #attempting = new RecentKeys()
  readonly #granted = new RecentKeys()
  readonly #released = new RecentKeys()
  /** Claims with an attempt that was not plain, or was not answered in time. */
  readonly #others: ClaimsInDoubt
  /** Locks that granted the last claim at once. */
  readonly #freeLocks = new RecentKeys()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#others = new ClaimsInDoubt(clock)
  }

  /** Whether an attempt may be plain: the first one of its claim, on a lock that is likely free. */
  isLikelyGranted(claim: ClaimRef): boolean {
    const key = keyOf(claim)
    return this.#freeLocks.has(claim.lock) && !this.#granted.has(key) && !this.#others.has(key)
  }

  /** An attempt leaves that may arrive at any time. */
  noteAttempt(claim: ClaimRef, isPlain: boolean): void {
    const key = keyOf(claim)
    this.#granted.delete(key)
    this.#others.add(key, KEPT_TTLS * claim.ttlMs)
    if (isPlain) this.#attempting.add(key)
    else this.#attempting.delete(key)
  }

  /** A plain attempt was answered in time. */
  noteGrant(claim: ClaimRef): void {
    const key = keyOf(claim)
    if (!this.#attempting.delete(key)) return
    this.#others.delete(key)
    this.#granted.add(key)
  }

  /** Returns whether the release of the claim may be plain. A second one may not. */
  takeGrant(claim: ClaimRef): boolean {
    return this.#granted.delete(keyOf(claim)) && this.#freeLocks.has(claim.lock)
  }

  /** A plain statement has released the claim. */
  noteRelease(claim: ClaimRef): void {
    this.#released.add(keyOf(claim), this.#clock.monotonicMs() + claim.ttlMs)
  }

  /** Whether any claim may be released. */
  get knowsReleases(): boolean {
    return this.#released.size > 0
  }

  /** Whether the claim is refused, since a plain statement has released it within its TTL. */
  isReleased(claim: ClaimRef): boolean {
    return this.#clock.monotonicMs() < this.#released.untilMs(keyOf(claim))
  }

  /** The database refuses the claim from now on. */
  noteTombstone(claim: ClaimRef): void {
    this.#others.delete(keyOf(claim))
  }

  noteLock(lock: string, isFree: boolean): void {
    if (isFree) this.#freeLocks.add(lock)
    else this.#freeLocks.delete(lock)
  }
}

function keyOf({ lock, id }: ClaimRef): string {
  return `${id} ${lock}`
}

/** Keys with a time. The oldest ones are forgotten. */
class RecentKeys {
  readonly #keys = new Map<string, number>()
  readonly #oldest = new OldestKeys(this.#keys)

  has(key: string): boolean {
    return this.#keys.has(key)
  }

  get size(): number {
    return this.#keys.size
  }

  untilMs(key: string): number {
    return this.#keys.get(key) ?? -Infinity
  }

  add(key: string, untilMs = Infinity): void {
    this.#keys.delete(key)
    this.#keys.set(key, untilMs)
    const oldest = this.#keys.size > KEPT ? this.#oldest.next() : undefined
    if (oldest !== undefined) this.#keys.delete(oldest)
  }

  delete(key: string): boolean {
    return this.#keys.delete(key)
  }
}
