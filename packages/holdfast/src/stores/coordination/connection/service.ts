/**
 * What a coordination service must do for the queue recipe: the interface between `coordination/`
 * and etcd or ZooKeeper.
 *
 * Such a service keeps entries in the order in which they were made. Each entry is bound to a
 * session that must be kept alive. The service reports when an entry changes or goes. It decides no
 * grant: position is the grant, and the recipe reads positions.
 */
import type { Claim, ClaimRef, ListQuery, LockKind, NamesPage } from '../../../store/contract.js'
import type { LockError } from '../../../errors.js'
import type { EntryData } from '../wire.js'
import type { Moment } from './moment.js'

/** A session as the service knows it: its entries go when it ends. */
export interface ServiceSession {
  /** How long it lives unheard of, in milliseconds, as the service granted it. */
  readonly timeoutMs: number
  /**
   * Resolves to a moment from which the session certainly lives for its timeout, or to undefined
   * when it is gone for good. Rejects with a `LockError` when that is unknown. A majority of the
   * servers has agreed after this was called, since the word of one server, the leader included,
   * outlives its majority.
   * @param now the moment of this call
   * @param oldestMs the oldest moment that will do, no later than `now`, on the monotonic clock
   */
  keepAlive(now: Moment, oldestMs: number): Promise<Moment | undefined>
  /** Ends it, and all its entries with it. */
  end(): Promise<void>
}

/**
 * Whether another session may be granted than the one that was asked for. Leases need it exactly:
 * none may outlive a dead holder by more than was promised.
 */
export type Exactness = 'exact' | 'or longer'

/** An entry before another one, as much of it as decides whether that one may go. */
export interface Predecessor {
  readonly key: string
  readonly weight: number
}

/** An entry of this client. */
export interface Entry {
  readonly lock: string
  readonly id: string
  readonly key: string
  /**
   * Grows from entry to entry of a lock, and is never used again: the create revision or the czxid.
   */
  readonly number: bigint
}

/** What stands before an entry. */
export interface QueuePosition {
  /** The entries before it that are worth watching, the oldest first: see `positionOf`. */
  readonly before: readonly Predecessor[]
  /** What the entries before it weigh. Where that exceeds the capacity, it may be more. */
  readonly weight: number
  /**
   * The moment of this read in the service's own count: a watch that starts after it misses
   * nothing.
   */
  readonly moment: bigint
}

export interface Present extends QueuePosition {
  readonly state: 'present'
  readonly data: EntryData
  /** Changes with the data. */
  readonly version: bigint
}

/** The entry is not there: its session ended, or it was removed. */
export interface Absent {
  readonly state: 'absent'
  /** The reason of the steal, where the service remembers it: empty when none was given. */
  readonly stealReason?: string
}

/** The entry is there, and what stands before it does not let it go. Its data was not read. */
export interface Waits extends QueuePosition {
  readonly state: 'waits'
}

export type EntryReading = Present | Absent

export interface Entered extends QueuePosition {
  readonly outcome: 'entered'
  readonly entry: Entry
  readonly version: bigint
  /** What the entry shows, where an earlier request made it and this one left it as it is. */
  readonly data?: EntryData
  /** Whether it stands on the session for waiters. */
  readonly onWaiterSession: boolean
  /**
   * What stands before it, where that is still being read: until then it waits, behind more than it
   * could pass. Resolves to undefined when the entry has gone.
   */
  readonly later?: Promise<QueuePosition | undefined>
  /**
   * It does not fit beside those before it, and is not to wait where it stands: it has to leave.
   */
  readonly mustLeave?: boolean
}

export type EnterResult =
  | Entered
  /** Another claim is before it, and it was not to queue. Nothing was left behind. */
  | { readonly outcome: 'busy' }
  | { readonly outcome: 'withdrawn' }
  /** The session is gone: nothing was entered. */
  | { readonly outcome: 'no-session' }
  /**
   * The service has refused what was asked, and nothing of it was left behind. Where that is not
   * sure, `enter` rejects.
   */
  | { readonly outcome: 'refused'; readonly error: LockError }
  /** The lock is in use in another shape. Nothing was left behind. */
  | { readonly outcome: 'mismatch'; readonly kind: LockKind; readonly capacity: number }

export interface EnterSessions<S extends ServiceSession> {
  /** For an entry that may go at once. */
  readonly holder: S
  /**
   * For one that has to wait, if it is open. A service that refuses a claim in one step answers
   * `busy` without it.
   */
  readonly waiter: S | undefined
  /**
   * Opens it, for an entry that is in its place already. Undefined when the claim is not to wait.
   */
  readonly openWaiter: (() => Promise<S>) | undefined
}

/** An entry as `inspect` and `steal` see it. */
export interface ListedEntry {
  readonly entry: Entry
  readonly data: EntryData
  readonly version: bigint
  /** What the service knows of the end of its session, in milliseconds. */
  readonly sessionLeftMs: number | undefined
  /** The session on which it stands, where entries are detached. */
  readonly sessionId?: bigint
}

export interface ListedQueue {
  readonly lock: string
  /** In the order of the queue. */
  readonly entries: readonly ListedEntry[]
}

export interface Watched {
  readonly predecessors: readonly Predecessor[]
  readonly moment: bigint
  /** Whether it matters only that one of them goes, and not that it is granted or gets lighter. */
  readonly onlyGone: boolean
  /**
   * Whether the predecessor waits itself: then its grant matters. Services without moments must not
   * miss an earlier one.
   */
  readonly waits: boolean
}

export interface ServiceWatch {
  close(): void
}

export interface CoordinationService<S extends ServiceSession = ServiceSession> {
  /**
   * How much longer than the TTL of a lease its session must be, for what the service's own clock
   * rounds away.
   */
  readonly graceMs: number
  /** Whether `amend` can give an entry another id and another session in one step. */
  readonly adopts: boolean
  /** Whether the entries of claims that wait are made in the order of the calls of `enter`. */
  readonly keepsOrder: boolean
  /**
   * Grows with each request in doubt. Absent where such a request is not sent again.
   */
  readonly inDoubt?: number
  /**
   * @throws LockError (`STORE_CONFIG`) when the service would grant a timeout that is not wanted.
   */
  openSession(timeoutMs: number, exactness: Exactness): Promise<S>
  /**
   * Makes the entry of a claim. Repeated for the same claim it finds the entry that is there.
   * @param inDoubt whether an earlier request, whose answer was lost, may have made the entry
   */
  enter(
    claim: Claim,
    data: EntryData,
    sessions: EnterSessions<S>,
    inDoubt: boolean,
  ): Promise<EnterResult>
  /**
   * Looks at entries and at what stands before them, all of them in one moment where the service
   * can.
   */
  readEntries(entries: readonly EntryQuery[]): Promise<readonly (EntryReading | Waits)[]>
  /**
   * Writes new data unless the version has changed; also moves the entry to `session` where that is
   * given.
   */
  amend(entry: Entry, data: EntryData, version: bigint, session?: S): Promise<bigint | undefined>
  /**
   * Takes out the entry, if it is still this claim's: another claim may have adopted it. False when
   * it was not there.
   *
   * @param version as it was last seen here; the service looks again when it has changed since
   */
  leave(entry: Entry, version: bigint): Promise<boolean>
  /**
   * Removes the entry of a claim that may or may not have been made. From now on it refuses the
   * claim, also when its `enter` is still on the way. Whether the entry was detached, where there
   * was one.
   */
  block(claim: ClaimRef): Promise<Pick<EntryData, 'detached'> | undefined>
  /**
   * Removes an entry of another client, and leaves the reason where the service can.
   * @param isOnly whether the entry stays when another claim has adopted it since it was listed
   */
  evict(listed: ListedEntry, reason: string | undefined, isOnly: boolean): Promise<boolean>
  /**
   * Returns why `evict` removed the entry of a claim, empty where no reason was given; undefined
   * when it did not. Missing where `evict` leaves no reason.
   */
  stealReasonOf?(claim: Pick<ClaimRef, 'lock' | 'id'>): Promise<string | undefined>
  /** Another claim has taken over the entry of a claim of this client. Where `adopts` is true. */
  noteAdopted?(claim: ClaimRef): Promise<void>
  /**
   * Ends the session on which a detached entry stood when it was listed, unless the entry still
   * stands there. A change whose answer was lost may have passed the entry to `session` before.
   */
  endDetached?(listed: ListedEntry, session: S): Promise<void>
  /**
   * Calls back once when a predecessor has changed or gone after the moment; spurious calls are
   * allowed.
   */
  watch(watched: Watched, changed: () => void): ServiceWatch
  /** A page of the names of locks: see `Store.list`. */
  listNames(query: ListQuery): Promise<NamesPage>
  /**
   * The queues of these locks that have entries.
   * @param waitersUpTo see `Store.inspect`
   */
  readQueues(
    locks: readonly string[],
    waitersUpTo?: readonly string[],
  ): Promise<readonly ListedQueue[]>
  /**
   * @param heldMs for how long leases may still be held, in milliseconds: they are left to run out
   */
  close(heldMs: number): Promise<void>
}

export interface EntryQuery {
  readonly entry: Entry
  /** Undefined when only the entry matters, and not what stands before it. */
  readonly claim: Pick<Claim, 'capacity' | 'weight' | 'kind'> | undefined
  /**
   * The version that this client has seen, for a claim that waits. The service may then answer
   * `waits` without reading the entry, so that thousands of waiters of one client read their queue
   * together.
   */
  readonly seen?: bigint
}
