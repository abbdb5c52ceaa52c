/**
 * What a store must do. This is the only thing that the lease runtime knows about stores, and the
 * only thing that a store must know about Holdfast.
 *
 * Rules for whoever implements it:
 * - Each verb is atomic inside the service: the grant rule runs there, never as read-then-write
 *   from here.
 * - Each verb may be repeated with the same claim id, by the runtime or by a client library that
 *   resends. A claim id that was withdrawn is refused from then on (for at least its TTL), in
 *   whichever order the messages arrive. Where nothing travels and verbs run in the order of the
 *   calls, it is enough to remember the last few of a lock; likewise for a claim all of whose
 *   attempts were answered, over connections that did not break.
 * - A verb either answers, or rejects with a `LockError`. `StoreUnavailableError` means that the
 *   outcome is unknown. A verb may reject late, but must not hang for ever: give requests a
 *   timeout.
 * - Every expiry is judged by the store's own clock (or the session's), never by a client's wall
 *   clock.
 * - The store starts no timers for leases. The runtime renews, and re-attempts while it waits.
 * - Verbs called in one turn of the event loop may travel together; withdrawals must then go first.
 */

import type { LockError } from '../errors.js'
import type { MaybePromise } from './maybe-promise.js'

/**
 * A mutex is the writer of a readers-writer lock: the two kinds may meet on one lock and exclude
 * each other. A semaphore shares its lock with semaphores of the same capacity only.
 */
export type LockKind = 'mutex' | 'readWriteLock' | 'semaphore'

/**
 * The capacity of a mutex and of a readers-writer lock: a reader weighs 1, a writer and a mutex
 * weigh all of it.
 */
export const CAPACITY_ALL = 2 ** 31 - 1

/**
 * The processes of a child that runs under a lock, so that a takeover can see whether it is gone.
 */
export interface ProcessGroup {
  readonly pgid: number
  /**
   * The start time of the group's leader in the units of the operating system; guards against
   * reused ids.
   */
  readonly startTime: string
}

/** Who makes a claim. Shown by `inspect`; never used to decide a grant. */
export interface Owner {
  /** One `createLocks` call: unique for ever. */
  readonly clientId: string
  readonly host: string
  readonly pid: number
  /** Free text of the user, such as the command that runs under the lock. */
  readonly label?: string
  /** The child process group that works under the claim, recorded by the command line. */
  readonly group?: ProcessGroup
  /** How many more waiters of the same process queue behind this claim. */
  readonly localWaiters?: number
}

/** One attempt to hold a lock. It keeps its id from the first attempt to its withdrawal. */
export interface Claim {
  /** The full name of the lock, namespace included. At most 512 bytes of UTF-8. */
  readonly lock: string
  /** Random and never used again. Letters, digits, `-`, `_` and `.`; at most 64 characters. */
  readonly id: string
  readonly kind: LockKind
  readonly capacity: number
  /** A claim is exclusive when its weight is the whole capacity. */
  readonly weight: number
  readonly ttlMs: number
  /**
   * While it waits, the claim is attempted again at least this often. The store forgets a waiter
   * after three missed heartbeats, and gives a grant that it pushes to a waiter three heartbeats to
   * live until the first renewal.
   */
  readonly heartbeatMs: number
  readonly owner: Owner
}

/** How many heartbeats a waiter may miss, and how many a pushed grant lives unrenewed. */
export const HEARTBEATS_TO_LIVE = 3

/** Enough of a claim to find it. */
export interface ClaimRef {
  readonly lock: string
  readonly id: string
  /** How long the claim must stay refused after it was withdrawn: its TTL. */
  readonly ttlMs: number
}

export interface AttemptOptions {
  /** Join the queue when the lock is busy. Without it a busy lock leaves no trace in the store. */
  readonly enqueue: boolean
  /**
   * How many tokens in a row a grant reserves, at least 1. Stores without `tokenBlocks` answer 1.
   */
  readonly tokens: number
  /**
   * The queue of the runtime that the claim belongs to. Attempts of one queue may overtake each
   * other on their way: its earliest caller gets its first grant. All other attempts of a client
   * for one lock reach the store in call order.
   */
  readonly queue?: object | undefined
}

/** The claim holds the lock. */
export interface Granted {
  readonly outcome: 'granted'
  /** The first token of the block; undefined on stores without fencing. */
  readonly token: bigint | undefined
  /** How many tokens were reserved: `token` to `token + tokens - 1`. */
  readonly tokens: number
  /**
   * The TTL that this grant was given, in milliseconds: shorter than asked for when it was pushed
   * to a waiter.
   */
  readonly ttlMs: number
  /**
   * True when the grant was made before this message reached the store (a resent attempt, or a
   * hand-off while waiting). Such an answer never restarts the clock: `remainingMs` counts.
   */
  readonly alreadyGranted: boolean
  /** What was left of the lease when the store answered, in milliseconds. */
  readonly remainingMs: number
}

/** The claim is in the queue. */
export interface Waiting {
  readonly outcome: 'waiting'
  /** When the next lease ahead of it ends, unless renewed: a good moment to attempt again. */
  readonly holderRemainingMs: number | undefined
  /**
   * The claim's number in the queue of its lock, in stores that have such: larger than those of all
   * who came before, and when it is larger by one, nobody stands between the two. It may be told of
   * a claim that joins, and left out later.
   */
  readonly queueNumber?: number | undefined
}

/** The lock is busy and the claim did not ask to queue (or the store has no queue). */
export interface Busy {
  readonly outcome: 'busy'
  readonly holderRemainingMs: number | undefined
}

/** The claim was withdrawn before this message arrived. It will never be granted. */
export interface Withdrawn {
  readonly outcome: 'withdrawn'
}

export type AttemptResult = Granted | Waiting | Busy | Withdrawn

export interface Renewal extends ClaimRef {
  /** The owner as it should be shown from now on. */
  readonly owner: Owner
}

/**
 * - `renewed`: the lease now ends `ttlMs` after the store handled the request.
 * - `lost`: the claim is not held, or it was stolen: it will never be held again.
 * - `unknown`: nobody can say; the old deadline stands.
 */
export type RenewResult =
  | { readonly outcome: 'renewed' }
  | { readonly outcome: 'lost'; readonly reason: 'expired' }
  | { readonly outcome: 'lost'; readonly reason: 'stolen'; readonly stealReason?: string }
  | { readonly outcome: 'unknown'; readonly cause: LockError }

/** Takes the result of one renewal, by its place in the batch. */
export type RenewalListener = (index: number, result: RenewResult) => void

/**
 * - `released`: the claim held the lock until this withdrawal (also when a repeated message says so
 *   again).
 * - `left`: it was waiting, and is no more.
 * - `absent`: it neither held nor waited. It is refused from now on.
 */
export type WithdrawOutcome = 'released' | 'left' | 'absent'

/**
 * A grant that travels with a wake-up. Its deadline counts from the last acknowledged "waiting".
 */
export interface PushedGrant {
  readonly token: bigint | undefined
  readonly tokens: number
  readonly ttlMs: number
}

/**
 * Called with a grant when the hint carries one, else without: attempt again. Spurious calls are
 * allowed.
 */
export type WakeListener = (grant?: PushedGrant) => void

export interface Watch {
  /**
   * Undefined when the watch works at once. Otherwise it resolves when a wake-up can no longer be
   * missed; the runtime then attempts once more before it sleeps. A rejection only means that the
   * re-attempt floor must do.
   */
  readonly ready: Promise<void> | undefined
  close(): void
}

export interface StealOptions {
  /** Free the lock at once, under running code: only the fence protects then. */
  readonly now: boolean
  /**
   * Who steals and why, for the holder and for `inspect`. At most 256 characters; no control
   * characters.
   */
  readonly reason?: string
}

export interface StealResult {
  /** How many leases were taken away. Zero when the lock was free. */
  readonly holders: number
  /**
   * When the lock is free at the latest, in milliseconds; 0 when it is free already. Undefined
   * while it is guarded.
   */
  readonly freeInMs: number | undefined
  /**
   * A transaction that covers a stolen lease keeps the lock until it has ended: nobody knows when
   * that is.
   */
  readonly guarded?: boolean
}

export interface HolderInfo {
  readonly claimId: string
  readonly owner: Owner
  readonly weight: number
  readonly token: bigint | undefined
  /** How long ago the grant was made. */
  readonly heldMs: number
  readonly remainingMs: number
  /** It was stolen: it is not renewed any more. */
  readonly stolen: boolean
  /** What the thief gave as the reason. */
  readonly stealReason?: string
}

export interface WaiterInfo {
  readonly claimId: string
  readonly owner: Owner
  readonly weight: number
  readonly waitedMs: number
}

export interface LockInfo {
  readonly lock: string
  readonly kind: LockKind
  readonly capacity: number
  readonly holders: readonly HolderInfo[]
  /** In the order of the queue. */
  readonly waiters: readonly WaiterInfo[]
  /** The largest token given so far, where the store keeps one. */
  readonly lastToken: bigint | undefined
}

/** One lock, or a page of locks whose full names begin alike. */
export type InspectQuery =
  | { readonly lock: string }
  | {
      readonly prefix: string
      /** Where the last page ended. */
      readonly cursor?: string | undefined
      /** At most so many locks on a page. */
      readonly limit: number
    }

export interface InspectPage {
  /**
   * Locks that somebody holds or waits for, in the order of their names where the store can sort.
   */
  readonly locks: readonly LockInfo[]
  /** Present when there may be more. */
  readonly cursor: string | undefined
}

/** The longest TTL that a store outside this process grants: a year. */
export const LONGEST_TTL_MS = 366 * 24 * 3_600_000

/**
 * How long to wait between two attempts, for a store without reasons to poll more or less often.
 */
export const DEFAULT_POLL_RANGE_MS: Traits['pollRangeMs'] = [50, 250]

/** What a store can do and promise. Asking for what it cannot do is an `UnsupportedLockError`. */
export interface Traits<F extends boolean = boolean> {
  /** Every grant has a token larger than each earlier one of that lock. */
  readonly fencing: F
  /** A grant can reserve several tokens, for hand-offs inside one process. */
  readonly tokenBlocks: boolean
  readonly kinds: readonly LockKind[]
  /** Waiters queue in the store, and nothing overtakes there. */
  readonly fair: boolean
  /** How a waiter learns that it is its turn. `poll`: only by attempting again. */
  readonly wakeUp: 'push' | 'poll'
  /** Whose clock ends a lease. */
  readonly expiry: 'process' | 'machine' | 'server' | 'session'
  readonly downgrade: boolean
  readonly steal: boolean
  readonly inspect: boolean
  /**
   * How long to wait between two attempts where there is no queue or no wake-up: [shortest,
   * longest].
   */
  readonly pollRangeMs: readonly [number, number]
  /** The range of TTLs that the store grants as asked, in milliseconds. */
  readonly ttlRangeMs: readonly [number, number]
}

/** Runs a statement in the caller's transaction, and resolves to its rows. */
export type GuardQuery = (sql: string, values: readonly string[]) => Promise<readonly unknown[]>

/** A lease, as the transaction that covers it names it. */
export interface GuardedLease extends Pick<ClaimRef, 'lock' | 'id'> {
  readonly token: string
}

/**
 * What a store in a database adds, so that a transaction of the same database covers a lease until
 * its commit: for as long as the transaction lasts, nobody is granted the lock after the lease has
 * ended.
 */
export interface TransactionGuard {
  /** Asked before the transaction begins. False when the claim does not hold the lock any more. */
  prepare(claim: Pick<ClaimRef, 'lock' | 'id'>): MaybePromise<boolean>
  /** The first that the transaction does. False when the lease is lost. */
  begin(query: GuardQuery, lease: GuardedLease): Promise<boolean>
  /**
   * The last that the transaction does. False when it is not the one that began: that has ended
   * already.
   */
  isStillOpen(query: GuardQuery, lease: GuardedLease): Promise<boolean>
}

export interface Store<F extends boolean = boolean> {
  /** Such as `memory` or `redis`; stands in errors and events. */
  readonly name: string
  readonly traits: Traits<F>
  /** Where the store is in a database that has transactions. */
  readonly transactionGuard?: TransactionGuard
  /**
   * Takes the lock, joins the queue, or keeps the claim's place in it. Repeated with the same id it
   * gives the same lease, token and end. Rejects with `LockUsageError` (`LOCK_MISMATCH`) when those
   * who hold or wait for the lock use another kind or capacity; a mutex and a readers-writer lock
   * are one kind in this.
   */
  attempt(claim: Claim, options: AttemptOptions): MaybePromise<AttemptResult>
  /**
   * Returns one result for each renewal, in order. A rejection counts as `unknown` for all that
   * were not reported.
   *
   * Where the results of a batch come apart, the store reports each at once, and at most once: a
   * part of the service that does not answer must not delay the others. The whole batch still
   * travels together where it can.
   */
  renew(
    renewals: readonly Renewal[],
    report?: RenewalListener,
  ): MaybePromise<readonly RenewResult[]>
  /**
   * Releases the claim, or takes it out of the queue, and refuses it from now on. Wakes whoever can
   * go next.
   */
  withdraw(claim: ClaimRef): MaybePromise<WithdrawOutcome>
  /**
   * Turns a writer's lease into a reader's. False when the claim does not hold the lock any more.
   */
  downgrade(claim: ClaimRef): MaybePromise<boolean>
  /**
   * Tells of wake-ups for a claim that waits. Never load-bearing: a lost hint costs the re-attempt
   * floor.
   */
  watch(claim: Claim, wake: WakeListener): Watch
  /** Takes the lock away from whoever holds it. The next token is larger. */
  steal(lock: string, options: StealOptions): MaybePromise<StealResult>
  inspect(query: InspectQuery): MaybePromise<InspectPage>
  /**
   * Gives back connections and files of its own. Never closes a client that the caller passed in.
   */
  close(): MaybePromise<void>
}
