/** The port through which the SQL store uses a database. */
import type { Clock } from '../../../clock/clock.js'
import type { TransactionGuard, PushedGrant } from '../../../store/contract.js'
import type { Answers, Request } from '../wire.js'

/** The wake-ups that a database sends. */
export interface WakeUpEvents {
  /** A waiting claim of this client was granted. */
  onGrant(claimId: string, grant: PushedGrant): void
  /** A claim of this client was granted, and the message does not say which. */
  onSomeGrant(): void
  /** A message may have been missed: each waiter should ask again. */
  onHint(): void
}

/** A claim that waits. */
export interface WaitingClaim {
  readonly lock: string
  readonly id: string
}

/** The grant of a claim that waited. */
export interface FoundGrant {
  readonly id: string
  readonly grant: PushedGrant
}

/** A query for the names of locks with holders or waiters. */
export interface NameQuery {
  readonly prefix: string
  readonly after: string
  readonly limit: number
}

/** What a database applies in one statement. Either `answer` or `fail` is called, once. */
export interface Batch {
  /** Final from `leave` on. A further try leaves out attempts whose callers have given up. */
  readonly requests: readonly Request[]
  /** Whether the process exits: only what is written at once still arrives. */
  readonly isAtExit: boolean
  /**
   * Called when there is a connection, and again before each further try. Calls `send` when no
   * more requests join, before any other turn of the event loop.
   */
  leave(send: () => void): void
  /** Leaves before the end of the turn, if it waits for that. */
  leaveNow(): void
  /** The connection ended under a try: the database may have done it. */
  unheard(): void
  /** @param answers in the order of the requests, undefined for one that has none */
  answer(answers: Answers): void
  /** @param reason a `LockError` */
  fail(reason: unknown): void
}

/** Rejections are `LockError`s. */
export interface Database {
  readonly clock: Clock
  /** Such as `postgres`. */
  readonly name: string
  /** The channel on which the database wakes this client; its waiters' rows contain it. */
  readonly channel: string
  /**
   * How many statements of one client are in flight at once. More would be smaller, and wait for
   * each other's commit.
   */
  readonly maxStatements: number
  /** How many requests share a statement at most. */
  readonly largestBatch: number
  /** The part of the transaction guard that differs between databases. */
  readonly transactionGuard: Pick<TransactionGuard, 'begin' | 'isStillOpen'>
  /** Whether its pool lends a connection before a statement is written. Requests can join then. */
  readonly lends: boolean
  /** Applies all requests of a batch, in order, in one transaction and one round trip. */
  run(batch: Batch): void
  /** Resolves when the requests of the tick that has just ended are written, if that is later. */
  written?(): Promise<void> | undefined
  /** Returns which of these claims hold their locks, where a message does not say that. */
  findGrants?(claims: readonly WaitingClaim[]): Promise<readonly FoundGrant[]>
  names(query: NameQuery): Promise<readonly string[]>
  /**
   * Starts to listen. Resolves when no message can be missed any more. Rejects when messages do not
   * arrive.
   */
  listen(events: WakeUpEvents): Promise<void>
  /** Stops listening and closes its connection. Another `listen` may follow. */
  unlisten(): Promise<void>
  /** Closes the connections that are not the pool's. */
  close(): Promise<void>
}
