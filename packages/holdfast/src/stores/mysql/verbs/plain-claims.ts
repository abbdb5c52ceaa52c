/**
 * The claims and locks whose requests may be plain statements.
 *
 * A plain release leaves no tombstone, since that costs as much as the release itself. So nothing
 * of its claim may arrive after it: only a claim qualifies whose one attempt was answered. A claim
 * with any other attempt leaves a tombstone. The client remembers the claims that it released
 * plainly, and refuses them itself for their TTL.
 *
 * A plain statement that does nothing costs a round trip more. So it is only sent for a lock that
 * the last claim of this client found free.
 */
import type { Clock } from '../../../clock/clock.js'
import { OldestKeys } from '../../../collections/oldest-keys.js'
import type { ClaimRef } from '../../../store/contract.js'

/** How many claims and how many locks are remembered. */
const MOST_KEPT = 10_000
/** Fewer, since each would live just long enough to burden the garbage collector. */
const MOST_RELEASED = 1000
/** An attempt is assumed to arrive within this number of its TTLs. */
const KEPT_TTLS = 3

/** What has been sent of a claim. */
interface Note {
  readonly lock: string
  /**
   * `attempting`: its only attempt has no answer yet. `releasing`: a plain release has none.
   * `other`: it needs a tombstone.
   */
  state: 'attempting' | 'granted' | 'releasing' | 'other'
  /** Until when something of it may arrive. Of a released claim: until when it is refused. */
  untilMs: number
}

export class PlainClaims {
  /** Whether any claim was released plainly. */
  knowsReleases = false
  readonly #clock: Clock
  /** By the ids of claims, here and below. */
  readonly #open = new RecentKeys<Note>(MOST_KEPT)
  readonly #released = new RecentKeys<Note>(MOST_RELEASED)
  /** Locks that granted the last claim at once. */
  readonly #freeLocks = new RecentKeys<true>(MOST_KEPT)
  /** Until then a claim that was forgotten may have an attempt on its way. */
  #forgottenUntilMs = -Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether an attempt may be plain: the first one of its claim, on a lock that is likely free. */
  isLikelyGranted(claim: ClaimRef): boolean {
    if (!this.#freeLocks.has(claim.lock)) return false
    const note = this.#open.get(claim.id)
    const nowMs = this.#clock.monotonicMs()
    return (note ? nowMs >= note.untilMs : true) && nowMs >= this.#forgottenUntilMs
  }

  /** An attempt leaves that may arrive at any time. */
  noteAttempt({ lock, id, ttlMs }: ClaimRef): void {
    const nowMs = this.#clock.monotonicMs()
    const earlier = this.#open.get(id)
    const isOnly = !earlier || nowMs >= earlier.untilMs
    const state = isOnly && nowMs >= this.#forgottenUntilMs ? 'attempting' : 'other'
    const untilMs = nowMs + KEPT_TTLS * ttlMs
    const forgotten = this.#open.add(id, { lock, state, untilMs })
    if (forgotten && forgotten.state !== 'granted')
      this.#forgottenUntilMs = Math.max(this.#forgottenUntilMs, forgotten.untilMs)
  }

  /** An attempt was granted, with an answer in time. */
  noteGrant(claim: ClaimRef): void {
    const note = this.#noteOf(claim)
    if (note?.state !== 'attempting') return
    note.state = 'granted'
    note.untilMs = Infinity
  }

  /** Whether the release of the claim may be plain. */
  isGranted(claim: ClaimRef): boolean {
    return this.#noteOf(claim)?.state === 'granted' && this.#freeLocks.has(claim.lock)
  }

  /** A plain release leaves. A second one may not be plain. */
  takeGrant(claim: ClaimRef): void {
    const note = this.#noteOf(claim)
    if (!note) return
    note.state = 'releasing'
    note.untilMs = this.#clock.monotonicMs() + KEPT_TTLS * claim.ttlMs
    this.knowsReleases = true
  }

  /** A plain statement has released the claim. */
  noteRelease(claim: ClaimRef): void {
    const { lock, id, ttlMs } = claim
    const note: Note = this.#noteOf(claim) ?? { lock, state: 'other', untilMs: 0 }
    this.noteTombstone(claim)
    note.untilMs = this.#clock.monotonicMs() + ttlMs
    this.#released.add(id, note)
    this.knowsReleases = true
  }

  /**
   * Whether a plain release of the claim has left. An attempt that arrived after it would be
   * granted, for want of a tombstone.
   */
  isReleasing(claim: ClaimRef): boolean {
    return this.#noteOf(claim)?.state === 'releasing' || this.isReleased(claim)
  }

  /** Whether the claim is refused, since a plain statement has released it within its TTL. */
  isReleased({ lock, id }: ClaimRef): boolean {
    const note = this.#released.get(id)
    return note?.lock === lock && this.#clock.monotonicMs() < note.untilMs
  }

  /** The database refuses the claim from now on, or this client does. */
  noteTombstone(claim: ClaimRef): void {
    if (this.#noteOf(claim)) this.#open.delete(claim.id)
  }

  /** The runtime gives each id to one claim. Another caller of the store may not. */
  #noteOf({ lock, id }: ClaimRef): Note | undefined {
    const note = this.#open.get(id)
    return note?.lock === lock ? note : undefined
  }

  noteLock(lock: string, isFree: boolean): void {
    if (!isFree) this.#freeLocks.delete(lock)
    else if (!this.#freeLocks.has(lock)) this.#freeLocks.add(lock, true)
  }
}

/** A map that forgets its oldest keys. */
class RecentKeys<V> {
  readonly #most: number
  readonly #values = new Map<string, V>()
  readonly #oldest = new OldestKeys(this.#values)

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#values.size
  }

  has(key: string): boolean {
    return this.#values.has(key)
  }

  get(key: string): V | undefined {
    return this.#values.get(key)
  }

  /** Returns the value that is forgotten for it, if any. */
  add(key: string, value: V): V | undefined {
    this.#values.delete(key)
    this.#values.set(key, value)
    const oldest = this.#values.size > this.#most ? this.#oldest.next() : undefined
    if (oldest === undefined) return undefined
    const forgotten = this.#values.get(oldest)
    this.#values.delete(oldest)
    return forgotten
  }

  delete(key: string): boolean {
    return this.#values.delete(key)
  }
}
