/**
 * The store contract. It is all that the lease runtime knows of a store, and all that a store needs
 * to know of Holdfast.
 *
 * Rules for a store:
 * - Each verb is atomic inside the service. The grant rule runs there, never as a read from here
 *   and a later write.
 * - Each verb may be repeated with the same claim id: the runtime repeats verbs, and client
 *   libraries resend them. The store refuses a withdrawn claim id from then on, for at least its
 *   TTL, in any order of arrival. It remembers the id in a tombstone.
 * - A store may keep only the last few tombstones of a lock where verbs run in the order of the
 *   calls. So may a store that knows that every attempt of the claim was answered, over connections
 *   that did not break.
 * - A verb returns a result or rejects with a `LockError`. `StoreUnavailableError` means that the
 *   outcome is unknown. A verb may reject late, but never hangs: the store limits its requests.
 * - The clock of the service, or its session, decides when a lease ends: never a client's wall
 *   clock.
 * - The store starts no timers for leases. The runtime renews, and attempts again while it waits.
 * - Verbs called in one tick may travel together. Withdrawals then go first.
 */

import type { Clock } from '../clock/clock.js'
import type { LockError } from '../errors.js'
import type { Claim, ClaimRef, LockKind, Owner } from './claim.js'
import type { MaybePromise } from './maybe-promise.js'
import type { Traits } from './traits.js'
import type { TransactionGuard } from './transaction-guard.js'

export * from './claim.js'
export * from './traits.js'
export type * from './transaction-guard.js'

/** How a store handles one attempt. */
export interface AttemptOptions {
  /** Join the queue of a busy lock. Otherwise the attempt leaves no trace on a busy lock. */
  readonly enqueue: boolean
  /**
   * The number of consecutive tokens to reserve, at least 1. A store without `tokenBlocks` reserves
   * 1.
   */
  readonly tokens: number
  /**
   * The queue of the runtime that the claim belongs to. Attempts of one queue may reach the service
   * in any order: the earliest caller of the queue gets its first grant. All other attempts of a
   * client for one lock reach the service in call order.
   */
  readonly queue?: object | undefined
}

/** The claim holds the lock. */
export interface Granted {
  /** The lock is held. */
  readonly outcome: 'granted'
  /** The first token of the block. */
  readonly token: bigint
  /** The number of reserved tokens: `token` to `token + tokens - 1`. */
  readonly tokens: number
  /** The TTL of this grant, in milliseconds. A pushed grant has less than the claim asked for. */
  readonly ttlMs: number
  /**
   * True when the store had granted the claim before this request arrived: a resent attempt, or a
   * hand-off to a waiter. Such an answer never restarts the clock: `remainingMs` counts.
   */
  readonly alreadyGranted: boolean
  /** The time until the lease ends, as the store saw it when it answered, in milliseconds. */
  readonly remainingMs: number
}

/** The claim is in the queue. */
export interface Waiting {
  /** The claim waits. */
  readonly outcome: 'waiting'
  /** The time until the next lease ahead ends unless renewed: a good moment to attempt again. */
  readonly holderRemainingMs: number | undefined
  /**
   * The claim's number in the queue of its lock. Later claims have larger numbers, and consecutive
   * numbers mean that no claim stands between. A store may report it once, when the claim joins.
   */
  readonly queueNumber?: number | undefined
}

/** The lock is busy, and the claim did not ask to queue or the store has no queue. */
export interface Busy {
  /** Another claim holds the lock. */
  readonly outcome: 'busy'
  /** The time until the next lease ends unless it is renewed, where it is known. */
  readonly holderRemainingMs: number | undefined
}

/** The claim was withdrawn before this request arrived. It will never be granted. */
export interface Withdrawn {
  /** The claim has ended. */
  readonly outcome: 'withdrawn'
  /** A steal ended it. Only where the store remembers that: see `Traits.forgetsSteals`. */
  readonly stolen?: true
  /** The reason that `steal` was given. */
  readonly stealReason?: string
}

/** The answer to an attempt; `outcome` says which one. */
export type AttemptResult = Granted | Waiting | Busy | Withdrawn

/** The transfer of a lease from one claim to another. */
export interface Adoption {
  /** The claim that holds the lock. The store refuses it from now on. */
  readonly from: ClaimRef
  /** The fencing token of the lease. */
  readonly token: bigint
  /** The claim that holds the lock from now on, with the weight that `from` has. */
  readonly to: Claim
  /**
   * From now on only its TTL ends the lease: it outlives the process and the session that made it.
   * A detached lease keeps its token, since no other process works under it yet. Any other adoption
   * gives a larger token, so that resources refuse what the holder before still sends.
   */
  readonly detached: boolean
}

/** `granted` with one token, or the loss of `from`, which another claim may have taken over. */
export type AdoptResult = Granted | LostRenewal

/** A renewal of one claim's lease. */
export interface Renewal extends ClaimRef {
  /** The owner that `inspect` shows from now on. */
  readonly owner: Owner
  /** Only shows the owner: the lease keeps its TTL and its end. */
  readonly keepsEnd?: boolean
  /**
   * No request of this claim follows: the lease ends with this TTL. A store that keeps state of its
   * claims in the process forgets it.
   */
  readonly isLast?: boolean
}

/**
 * - `renewed`: the lease now ends `ttlMs` after the store handled the request, unless it keeps its
 *   end.
 * - `lost`: the claim does not hold the lock, or it was stolen. It will never hold it again.
 * - `unknown`: the outcome is unknown, and the old deadline stands.
 */
export type RenewResult =
  | { readonly outcome: 'renewed' }
  | LostRenewal
  | { readonly outcome: 'unknown'; readonly cause: LockError }

/** The claim holds the lock no longer: its lease expired, or was stolen. */
export type LostRenewal =
  | { readonly outcome: 'lost'; readonly reason: 'expired' }
  | { readonly outcome: 'lost'; readonly reason: 'stolen'; readonly stealReason?: string }

/** Takes the result of one renewal, by its index in the batch. */
export type RenewalListener = (index: number, result: RenewResult) => void

/**
 * - `released`: the claim held the lock until this withdrawal, or until the first of its repeats.
 * - `left`: the claim waited, and has left the queue.
 * - `absent`: the claim neither held nor waited.
 *
 * The store refuses the claim from now on in each case.
 */
export type WithdrawOutcome = 'released' | 'left' | 'absent'

/** A grant that travels with a wake-up. Its deadline counts from the last answer "waiting". */
export interface PushedGrant {
  /** The first token of the block. */
  readonly token: bigint
  /** The number of reserved tokens. */
  readonly tokens: number
  /** The TTL of the grant, in milliseconds. */
  readonly ttlMs: number
}

/**
 * Takes a wake-up: a pushed grant, or undefined as the hint to attempt again. Spurious calls are
 * allowed.
 */
export type WakeListener = (grant?: PushedGrant) => void

/** A subscription to the wake-ups of one claim. */
export interface Watch {
  /**
   * Resolves when no wake-up can be missed any more. The runtime then attempts once more before it
   * sleeps. Undefined when the watch works at once. After a rejection only the heartbeats remain.
   */
  readonly ready: Promise<void> | undefined
  /** Ends the subscription. Wake-ups that are on their way may still be reported. */
  close(): void
}

/** How a store ends the grants of a lock, or one claim. */
export interface StealOptions {
  /**
   * Ends this claim alone, and nothing where it neither holds nor waits any more. A waiter leaves
   * the queue at once. Without it the grants of all holders end.
   */
  readonly claim?: string | undefined
  /** Free the lock at once, under running code: only the fencing token protects then. */
  readonly now: boolean
  /** The reason, for the holder and `inspect`. At most 256 characters, no control characters. */
  readonly reason?: string | undefined
}

/** What a steal has ended. */
export interface StealResult {
  /** The number of stolen leases. Zero when the lock was free, or `claim` did not hold it. */
  readonly holders: number
  /** With `claim`: 1 when the claim waited, and was taken out of the queue. Otherwise 0. */
  readonly waiters?: number
  /** The longest time until the lock is free, in milliseconds. Undefined while it is guarded. */
  readonly freeInMs: number | undefined
  /** A transaction covers a stolen lease: the lock is free when that transaction has ended. */
  readonly guarded?: boolean
}

/** A holder of a lock, as the store sees it. */
export interface HolderInfo {
  /** The claim that holds the lock. */
  readonly claimId: string
  /** The client that made the claim. */
  readonly owner: Owner
  /** How much of the lock's capacity it takes. */
  readonly weight: number
  /**
   * Undefined where the grant has tokens for several leases of its process, which alone knows which
   * of them holds. Also undefined where too few servers that know it answer.
   */
  readonly token: bigint | undefined
  /** The time since the grant. */
  readonly heldMs: number
  /** The time until the lease ends unless it is renewed, in milliseconds. */
  readonly remainingMs: number
  /**
   * The TTL of the latest grant or renewal, in milliseconds. Absent where the routines of a
   * database are of an earlier version.
   */
  readonly ttlMs?: number
  /** The lease was stolen: the store refuses its renewals. */
  readonly stolen: boolean
  /** The reason that `steal` was given. */
  readonly stealReason?: string
}

/** A waiter in the queue of a lock, as the store sees it. */
export interface WaiterInfo {
  /** The claim that waits. */
  readonly claimId: string
  /** The client that made the claim. */
  readonly owner: Owner
  /** How much of the lock's capacity it waits for. */
  readonly weight: number
  /** The time since it joined the queue, in milliseconds. */
  readonly waitedMs: number
}

/** The holders and waiters of one lock. */
export interface LockInfo {
  /** The full name of the lock. */
  readonly lock: string
  /** What kind of lock its claims use. */
  readonly kind: LockKind
  /** How much weight all holders may have together. */
  readonly capacity: number
  /** The claims that hold the lock. */
  readonly holders: readonly HolderInfo[]
  /** In the order of the queue. */
  readonly waiters: readonly WaiterInfo[]
  /** No lease of the lock has had a larger token, where the store keeps one. */
  readonly lastToken: bigint | undefined
}

/** Which names a page of `list` has. */
export interface ListQuery {
  /** How the full names begin. */
  readonly prefix: string
  /** The `cursor` of the page before, in the store's own form. */
  readonly cursor?: string | undefined
  /** How many names are wanted. A page may have more, and fewer or none before the last one. */
  readonly limit: number
}

/** A page of names. */
export interface NamesPage {
  /** Full names in any order. Some locks may be free, and some names may come twice. */
  readonly names: readonly string[]
  /** Present when there may be more names. */
  readonly cursor: string | undefined
}

/** A service that keeps locks. The rules for one stand at the top of the contract. */
export interface Store {
  /** Such as `memory` or `redis`. Errors and events name it. */
  readonly name: string
  /** What the store can do and promises. */
  readonly traits: Traits
  /** Of a store for tests that decides by it: its clients have no other clock. */
  readonly clock?: Clock
  /** Present where the store is in a database that has transactions. */
  readonly transactionGuard?: TransactionGuard
  /**
   * Throws where this caller may not use the store, as in another request of Cloudflare's runtime.
   * Called before anything is begun for the caller.
   */
  readonly assertUsable?: (lock: string) => void
  /**
   * Takes the lock, joins its queue, or keeps the claim in the queue. Repeated with the same id, it
   * returns the same lease, token and end. Rejects with `LockUsageError` (`LOCK_MISMATCH`) while
   * holders or waiters use another kind or capacity. A mutex and a readers-writer lock are one kind
   * here.
   */
  attempt(claim: Claim, options: AttemptOptions): MaybePromise<AttemptResult>
  /**
   * Returns one result for each renewal, in order. A rejection counts as `unknown` for each renewal
   * that was not reported.
   *
   * The store reports a result as soon as it is known, and once. A part of the service that does
   * not answer must not delay the others. The batch still travels together where it can.
   */
  renew(
    renewals: readonly Renewal[],
    report?: RenewalListener,
  ): MaybePromise<readonly RenewResult[]>
  /** Releases the claim or takes it out of the queue, refuses it, and wakes the next waiters. */
  withdraw(claim: ClaimRef): MaybePromise<WithdrawOutcome>
  /** Makes a writer's lease a reader's. Returns false when the claim does not hold the lock. */
  downgrade(claim: ClaimRef): MaybePromise<boolean>
  /**
   * Lets another claim hold the lock in the place of the one that holds it, with its weight and the
   * whole TTL of `to`. The token grows unless the lease is `detached`. Of two adoptions of one
   * claim the second finds it lost. Repeated with the same `to`, it returns the same grant. Present
   * with the trait `adopt`.
   */
  adopt?(adoption: Adoption): MaybePromise<AdoptResult>
  /**
   * Reports wake-ups for a claim that waits. No promise rests on it: a lost wake-up costs a
   * heartbeat.
   */
  watch(claim: Claim, wake: WakeListener): Watch
  /**
   * Ends the grants of all holders of the lock, or one claim. The next token is larger. The claim's
   * next renewal or attempt is answered with the reason.
   */
  steal(lock: string, options: StealOptions): MaybePromise<StealResult>
  /**
   * Returns names of locks, page by page. A lock that is in use from the first page to the last one
   * is on one of them, also when others come and go.
   */
  list(query: ListQuery): MaybePromise<NamesPage>
  /**
   * Shows the holders and waiters of these locks, in as few requests as the store can. Locks
   * without holders and waiters are left out.
   * @param waitersUpTo shows the waiters up to the last one of these claims, none of them for an
   * empty list. To look at the holders costs no more then where many claims wait. A lock without
   * holders may be left out.
   */
  inspect(
    locks: readonly string[],
    waitersUpTo?: readonly string[],
  ): MaybePromise<readonly LockInfo[]>
  /**
   * Resolves when the requests of the tick that has just ended are written, where a client library
   * writes them later. Only then may the process end without losing them.
   */
  written?(): MaybePromise<void>
  /**
   * Sends the requests of this tick now. Present where the client library then writes them at once,
   * so that a process that exits can still send them.
   */
  flush?(): void
  /**
   * Hears that no caller waits for the release of this lock, which was requested a moment ago. A
   * later claim for the lock leaves behind it. Where `flush` can send only what has a connection,
   * the promise resolves when the release has one.
   */
  noteOpenRelease?(lock: string): Promise<void> | undefined
  /** Closes connections and files of the store's own, and no client that the caller passed in. */
  close(): MaybePromise<void>
}
