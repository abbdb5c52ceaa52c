/**
 * A grant: the store's "yes" to a claim, as far as this process may rely on it.
 *
 * The client renews the grant; a lease is what a caller has of it. A hand-off inside the process
 * gives the same grant to the next lease. This file has the data and the arithmetic. What ends a
 * grant stands elsewhere: see `endLost` and `releaseGrant`.
 */
import type { Place } from '../../collections/linked-set.js'
import type { LockLostError } from '../../errors.js'
import { invariant } from '../../invariant.js'
import type { Claim, Owner, Renewal, WaitNote } from '../../store/contract.js'
import type { ClockTrust } from './clock-trust.js'
import { marginMs } from '../../clock/margin.js'
import { deadlineFrom } from './deadline.js'
import type { LaneMember, RenewalLane } from './renewal-lane.js'

/** What the store answered. */
export interface GrantOffer {
  readonly token: bigint
  readonly tokens: number
  readonly ttlMs: number
}

/** When a request left. */
export interface Moment {
  /** By the monotonic clock. */
  readonly sentMs: number
  /** `Runtime.clockOffsetMs()` at that time. */
  readonly offsetMs: number
}

/** An offer, and the moment from which its TTL counts. */
export interface GrantTerms extends GrantOffer, Moment {}

/** The lease on a grant. */
export interface GrantHolder {
  /** When the lease ends at the latest by the monotonic clock, even if the grant continues. */
  readonly endsMs: number
  onLoss(error: LockLostError): void
  /**
   * Called before each renewal, at a third of the TTL of a fixed lease, and later when the last
   * callback under it has ended.
   */
  onAge(): void
}

/** The local queue that a grant serves. */
export interface GrantQueue {
  /** How many callers of this process wait behind the grant. `inspect` shows it. */
  readonly size: number
  onLoss(grant: Grant): void
}

/**
 * - `held`: the store holds it for this process.
 * - `overstayed`: likewise, but its holder reached `maxHoldMs`, and its lease counts as lost.
 * - `released`: its holder gave it back.
 * - `lost`: it ended against its holder's will.
 */
export type GrantState = 'held' | 'overstayed' | 'released' | 'lost'

/**
 * - `regular`: at every third of the TTL.
 * - `once`: not after the first renewal, which a fixed lease needs to reach its whole TTL.
 * - `none`: only the deadline is watched.
 */
export type Renewing = 'regular' | 'once' | 'none'

/**
 * Why only the store may give the lock to the next caller.
 * - `described`: a holder changed the owner that the store shows.
 * - `another-ttl`: a holder changed the TTL.
 * - `commit-pending`: a transaction of a holder may still commit.
 */
export type StoreOnlyReason = 'described' | 'another-ttl' | 'commit-pending'

/** A TTL that replaces the one of the claim. */
interface OwnTtl {
  /** What renewals ask for. */
  askedMs: number
  /**
   * What an acknowledged renewal is worth. Less than `askedMs` while a renewal with a shorter TTL
   * may still reach the store: it may arrive after this one, and shorten the lease.
   */
  trustedMs: number
}

export class Grant implements LaneMember<Grant> {
  /** The token of the lease on it. Each hand-off takes the next one of the block. */
  token: bigint
  readonly tokens: number
  /** When the client had it. The constructor takes the answer for one that came at once. */
  grantedMs: number
  claim: Claim
  state: GrantState = 'held'
  renewing: Renewing
  /** Whether a fixed lease is older than a third of its TTL. */
  isAged = false
  deadlineMs: number
  baseMs: number
  ttlMs: number
  /**
   * How much of the capacity its holder may rely on. A downgrade lowers it before the store
   * answers: others may be let in then, even if the answer is lost.
   */
  weight: number
  storeOnly: StoreOnlyReason | undefined
  /** Until then the lock stays taken, also after a release: see `leaveTaken`. */
  keptUntilMs = 0
  holder: GrantHolder | undefined
  /** How often it passed from one caller of this process to the next. */
  handOffs = 0
  /** Where its holder's claim stood in the store's queue: see `Waiting.queueNumber`. */
  queueNumber: number | undefined
  queue: GrantQueue | undefined
  // What the renewal scheduler notes: see `LaneMember`.
  lane: RenewalLane<Grant> | undefined
  previous: Grant | undefined
  next: Grant | undefined
  unanswered: Place<Grant> | undefined
  // Undefined at first: the engine keeps an object for each number with a fraction, and for
  // Infinity. Most grants end before their first renewal.
  retryAtMs: number | undefined
  sentMs: number | undefined
  openRenewals = 0
  isAtRisk = false
  /** The TTL that a holder chose with `renew`. */
  ownTtl: OwnTtl | undefined
  #offsetMs: number
  readonly #trust: ClockTrust

  /**
   * @param since from when the TTL counts. It may be the attempt itself, so that a grant needs no
   * object for its terms.
   * @param renews whether it is renewed for as long as it is held
   */
  constructor(
    claim: Claim,
    { token, tokens, ttlMs }: GrantOffer,
    since: Moment,
    renews: boolean,
    trust: ClockTrust,
  ) {
    invariant(tokens >= 1, 'a grant has at least one token', claim.lock)
    this.claim = claim
    this.weight = claim.weight
    this.token = token
    this.tokens = tokens
    this.grantedMs = this.baseMs = since.sentMs
    this.ttlMs = ttlMs
    this.deadlineMs = deadlineFrom(since.sentMs, ttlMs)
    // A pushed grant has a short TTL until its first renewal.
    this.renewing = renews ? 'regular' : ttlMs < claim.ttlMs ? 'once' : 'none'
    this.#offsetMs = since.offsetMs
    this.#trust = trust
  }

  /** Whether the store may still hold it for this process. */
  get isOpen(): boolean {
    return this.state === 'held' || this.state === 'overstayed'
  }

  /**
   * Whether the lock is still ours by the clocks alone. Right even when no timer has run.
   * @param offsetMs `Runtime.clockOffsetMs(nowMs)`
   */
  isAlive(nowMs: number, offsetMs: number): boolean {
    return this.isOpen && nowMs < this.deadlineMs && !this.clocksDisagree(nowMs, offsetMs)
  }

  /**
   * Whether wall clock and monotonic clock have parted since the last acknowledged request. The
   * machine may have slept, which the monotonic clock does not count. Or the wall clock was set,
   * which is harmless. Only the store can tell which. Where they part all the time, the lease is in
   * doubt only if it would be over by either clock: see `ClockTrust`.
   */
  clocksDisagree(nowMs: number, offsetMs: number): boolean {
    const partedMs = this.#partedMs(offsetMs)
    if (partedMs === 0) return false
    const mostMs = marginMs(this.ttlMs) + this.#trust.slackMs(this.ttlMs)
    return partedMs > mostMs || nowMs + partedMs >= this.deadlineMs
  }

  /** Returns until when it counts as held by either clock, if it is alive. */
  heldUntilMs(offsetMs: number): number {
    return this.deadlineMs - this.#partedMs(offsetMs)
  }

  /** How far the clocks have parted; 0 within the margin. */
  #partedMs(offsetMs: number): number {
    const partedMs = Math.abs(offsetMs - this.#offsetMs)
    return partedMs <= marginMs(this.ttlMs) ? 0 : partedMs
  }

  /** Whether clocks that part all the time will soon have parted too far. */
  isInDoubtSoon(offsetMs: number): boolean {
    const slackMs = this.#trust.slackMs(this.ttlMs)
    return slackMs > 0 && Math.abs(offsetMs - this.#offsetMs) > slackMs / 2
  }

  /** The TTL that the next renewal asks for. */
  get askedTtlMs(): number {
    return this.ownTtl?.askedMs ?? this.claim.ttlMs
  }

  /**
   * Notes an acknowledged renewal that left at `sentMs`. An older one changes nothing.
   * @param isWhole whether the TTL started again; otherwise the renewal only confirms the clocks
   */
  extend(sentMs: number, offsetMs: number, isWhole: boolean): void {
    const own = this.ownTtl
    const ttlMs = own?.trustedMs ?? this.claim.ttlMs
    this.openRenewals -= 1
    invariant(
      this.openRenewals >= 0,
      'an answer belongs to a renewal that was sent',
      this.claim.lock,
    )
    if (own && this.openRenewals === 0) own.trustedMs = own.askedMs
    if (!this.isOpen || sentMs < this.baseMs) return
    const isParted = Math.abs(offsetMs - this.#offsetMs) > marginMs(this.ttlMs)
    this.#trust.noteAnswer(isParted, sentMs, offsetMs)
    this.#offsetMs = offsetMs
    if (!isWhole) return
    const deadlineMs = deadlineFrom(sentMs, ttlMs)
    const isLater = deadlineMs >= this.deadlineMs
    invariant(isLater || own !== undefined, 'a renewal moves a deadline forward', this.claim.lock)
    this.baseMs = sentMs
    this.ttlMs = ttlMs
    if (this.renewing === 'once') this.renewing = 'none'
    if (isLater) this.deadlineMs = deadlineMs
  }

  /** Returns the claim as it is renewed: with the number of callers that wait behind it now. */
  renewal(): Renewal {
    this.claim = withLocalWaiters(this.claim, this.queue?.size ?? 0)
    return this.ownTtl ? { ...this.claim, ttlMs: this.ownTtl.askedMs } : this.claim
  }

  /**
   * Shows what its holder waits for. Returns the request that shows it at once, without a change of
   * the lease. Such a grant is not handed on inside the process: the note is about this holder.
   */
  noteWaits(waits: readonly WaitNote[]): Renewal {
    const waitsFor = waits.length === 0 ? undefined : waits
    this.claim = { ...this.claim, owner: { ...this.claim.owner, waitsFor } }
    return { ...this.renewal(), keepsEnd: true }
  }

  /** Shows another owner from the next renewal on. */
  describeAs(owner: Owner): void {
    this.storeOnly ??= 'described'
    this.claim = { ...this.claim, owner }
  }
}

/** Returns the claim with the number of callers of its process that wait behind it. */
export function withLocalWaiters(claim: Claim, localWaiters: number): Claim {
  if ((claim.owner.localWaiters ?? 0) === localWaiters) return claim
  return { ...claim, owner: { ...claim.owner, localWaiters } }
}
