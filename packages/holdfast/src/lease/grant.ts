/**
 * A grant: a claim that the store gave the lock to, for as long as this process may believe in it.
 *
 * The grant is what is renewed; a lease is a caller's handle on it. A hand-off inside the process
 * gives the same grant to the next lease. This file knows when a grant ends and who is to be told,
 * and nothing of stores.
 */
import { LockLostError, type LossReason } from '../errors.js'
import type { Place } from '../collections/linked-set.js'
import type { Claim, Owner } from '../store/contract.js'
import type { Client } from './client.js'
import { clocksParted, leaseEndMs } from './deadline.js'
import { isWatched, publish } from './events.js'
import type { Lane } from './renewal-scheduler.js'

/** What the store said when it granted, and when that was asked. */
export interface GrantTerms {
  readonly token: bigint | undefined
  readonly tokens: number
  readonly ttlMs: number
  /** The monotonic time from which the TTL counts: see `grantBaseMs`. */
  readonly baseMs: number
  /** `Client.clockOffsetMs()` at that time. */
  readonly offsetMs: number
}

export interface GrantHolder {
  /** When it ends at the latest by the monotonic clock, whatever becomes of the grant. */
  readonly endsMs: number
  onLoss(error: LockLostError): void
}

export interface GrantQueue {
  /** How many callers of this process wait behind the grant; shown by `inspect`. */
  readonly size: number
  onLoss(grant: Grant): void
}

export class Grant {
  readonly client: Client
  readonly token: bigint | undefined
  readonly tokens: number
  readonly grantedMs: number
  claim: Claim
  renews: boolean
  state: 'held' | 'released' | 'lost' = 'held'
  deadlineMs: number
  baseMs: number
  ttlMs: number
  /** Its holder was told already that it ends. */
  told = false
  /**
   * The store was asked to make a reader of a writer: whatever it answered, others may be let in.
   */
  downgraded = false
  /**
   * The store lets it end so soon, and not after the TTL of the claim, until it is renewed for the
   * first time.
   */
  provisional: boolean
  /** What the store shows was said by one holder about itself. */
  described = false
  /**
   * What one holder has done under it may still come into force: the store has to say who is next,
   * and when.
   */
  commitPending = false
  /** Who has the grant now: it is told of a loss, once. */
  holder: GrantHolder | undefined
  /** How often it passed from one caller of this process to the next. */
  handOffs = 0
  /** Where its holder's claim stood in the store's queue, where that is numbered: see `Waiting`. */
  queueNumber: number | undefined
  /** The local queue that the grant serves, where there is one. */
  queue: GrantQueue | undefined

  // The renewal scheduler's own notes: where in its lists the grant stands, and when to ask again.
  lane: Lane | undefined
  previous: Grant | undefined
  next: Grant | undefined
  unanswered: Place<Grant> | undefined
  askAgainMs = Infinity
  #offsetMs: number

  constructor(client: Client, claim: Claim, terms: GrantTerms, renews: boolean, nowMs: number) {
    this.client = client
    this.claim = claim
    this.renews = renews
    this.token = terms.token
    this.tokens = terms.tokens
    this.grantedMs = nowMs
    this.baseMs = terms.baseMs
    this.ttlMs = terms.ttlMs
    this.provisional = terms.ttlMs < claim.ttlMs
    this.deadlineMs = leaseEndMs(terms.baseMs, terms.ttlMs)
    this.#offsetMs = terms.offsetMs
  }

  /** How much of the lock's capacity its holder may believe to have. */
  get weight(): number {
    return this.downgraded ? 1 : this.claim.weight
  }

  /**
   * Whether the lock is still ours at `nowMs`, by the clock alone: right even when no timer has
   * run.
   */
  isAlive(nowMs: number): boolean {
    return this.state === 'held' && nowMs < this.deadlineMs && !this.clocksDisagree(nowMs)
  }

  /**
   * Whether wall clock and monotonic clock have parted since the last acknowledged request. The
   * machine may have slept, which the monotonic clock does not count; or somebody set the clock,
   * which harms nothing. Only the store can tell.
   */
  clocksDisagree(nowMs: number): boolean {
    return clocksParted(this.client.clockOffsetMs(nowMs), this.#offsetMs, this.ttlMs)
  }

  /**
   * An acknowledged renewal that left at `sentMs`. An older one than already known changes nothing.
   */
  extend(sentMs: number, offsetMs: number, moveDeadline: boolean): void {
    if (this.state !== 'held' || sentMs < this.baseMs) return
    this.#offsetMs = offsetMs
    if (!moveDeadline) return
    this.baseMs = sentMs
    this.ttlMs = this.claim.ttlMs
    this.provisional = false
    this.deadlineMs = leaseEndMs(sentMs, this.ttlMs)
  }

  /** The claim as it is renewed: with the number of those that wait behind it now. */
  renewal(): Claim {
    this.claim = withLocalWaiters(this.claim, this.queue?.size ?? 0)
    return this.claim
  }

  /** Shows another owner from the next renewal on. */
  describeAs(owner: Owner): void {
    this.described = true
    this.claim = { ...this.claim, owner }
  }

  /**
   * Ends the grant without its holder's will, and tells it. A stolen one is withdrawn when its
   * holder lets go.
   */
  lose(reason: LossReason, stealReason?: string): void {
    if (this.state !== 'held') return
    this.state = 'lost'
    const { client, claim } = this
    client.renewals.remove(this)
    if (reason !== 'stolen') client.withdrawals.inBackground(claim)
    const error = new LockLostError(reason, {
      lock: claim.lock,
      store: client.store.name,
      stealReason,
    })
    if (!this.told) {
      publish('lost', () => ({
        ...client.event(claim),
        reason,
        durationMs: client.clock.monotonicMs() - this.grantedMs,
      }))
    }
    this.holder?.onLoss(error)
    this.queue?.onLoss(this)
  }
}

/** The same claim, saying how many callers of its process stand behind it. */
export function withLocalWaiters(claim: Claim, localWaiters: number): Claim {
  if ((claim.owner.localWaiters ?? 0) === localWaiters) return claim
  return { ...claim, owner: { ...claim.owner, localWaiters } }
}

/** Publishes that a lease on this grant begins. `durationMs`: how long its holder waited. */
export function announceGrant(grant: Grant, durationMs: number): void {
  if (isWatched('granted'))
    publish('granted', () => ({
      ...grant.client.event(grant.claim),
      token: grant.token,
      durationMs,
    }))
}
