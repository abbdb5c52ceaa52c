import type { ClaimRef } from './claim.js'
import type { MaybePromise } from './maybe-promise.js'

/** Runs a statement in the caller's transaction, and resolves to the rows. */
export type GuardQuery = (sql: string, values: readonly string[]) => Promise<readonly unknown[]>

/** A lease, as the transaction that it covers names it. */
export interface GuardedLease extends Pick<ClaimRef, 'lock' | 'id'> {
  /** The fencing token, in decimal digits. */
  readonly token: string
}

/**
 * The guard of a store in a database: a transaction of the same database keeps the lock until its
 * commit. While the transaction lasts, no other claim is granted the lock, even after the lease has
 * ended.
 */
export interface TransactionGuard {
  /** Runs before the transaction begins. Returns false when the claim does not hold the lock. */
  prepare(claim: Pick<ClaimRef, 'lock' | 'id'>): MaybePromise<boolean>
  /** Runs first in the transaction. Resolves to false when the lease is lost. */
  begin(query: GuardQuery, lease: GuardedLease): Promise<boolean>
  /** Runs last in the transaction. Resolves to false when the guarded transaction has ended. */
  isStillOpen(query: GuardQuery, lease: GuardedLease): Promise<boolean>
}
