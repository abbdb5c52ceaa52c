/** What an SQL store needs of its database. */
import type { TransactionGuard, PushedGrant } from '../../store/contract.js'
import type { Answers, Request } from './requests.js'

/** What a doorbell tells. */
export interface BellEvents {
  /** A claim of ours was made a holder while it waited. */
  onGrant(claimId: string, grant: PushedGrant): void
  /**
   * Somebody may have been granted something, or a call may have been missed: whoever waits should
   * look again.
   */
  onHint(): void
}

/** Names of locks that somebody holds or waits for. */
export interface NameQuery {
  readonly prefix: string
  readonly after: string
  readonly limit: number
}

/** Rejections are `LockError`s. */
export interface Database {
  /** Such as `postgres`. */
  readonly name: string
  /** Where the database rings for this client: written into the rows of its waiters. */
  readonly channel: string
  /**
   * So many statements of one client are under way at once: more would only wait for each other's
   * commit, and be smaller.
   */
  readonly statements: number
  /** What is particular to the database in how a transaction covers a lease. */
  readonly transactionGuard: Pick<TransactionGuard, 'begin' | 'isStillOpen'>
  /** Does all the requests, in order, in one transaction and one round trip. */
  run(requests: readonly Request[]): Promise<Answers>
  names(query: NameQuery): Promise<readonly string[]>
  /**
   * Begins to listen. Resolves when no call can be missed any more; rejects when calls do not come
   * through.
   */
  listen(events: BellEvents): Promise<void>
  /**
   * Nobody waits any more: gives back what listening needs. May be followed by another `listen`.
   */
  deafen(): Promise<void>
  /** Gives back the connections of its own. */
  close(): Promise<void>
}
