/**
 * What the console's server sends to its page. The page shows it and decides nothing: the server
 * sorts, searches, cuts the window and finds what is wrong. Times are in milliseconds: `nowMs` and
 * `atMs` are epoch times, all others are ages and durations at `nowMs`.
 */

/** `GET …/api/view?…`: all that the page shows, with an ETag. */
export interface ConsoleView {
  /** Epoch time of the server at its last look. Ages below are relative to it. */
  readonly nowMs: number
  readonly title: string
  /** Such as `production`, shown beside the title. */
  readonly environment?: string
  readonly user: string
  readonly may: readonly ('look' | 'steal')[]
  /** Only names that begin with it are visible to this user. */
  readonly prefix?: string
  /** The prefix ends without a separator, so that `team-a` also shows `team-ab:…`. */
  readonly isPrefixLoose?: boolean
  /** Names of all stores of this console, and the one that is shown. */
  readonly stores: readonly string[]
  readonly store: StoreView
  readonly totals: Totals
  readonly lines: Lines
  /** The gravest first: in the order of `Trouble`, and each kind from its oldest on. */
  readonly trouble: readonly Trouble[]
  /** How many further ones are left out of `trouble`. */
  readonly moreTrouble?: number
  /**
   * Present when more locks wait for each other than one search for deadlocks reads: how many it
   * has read. Deadlocks with a lock that it has not read are missing in `trouble`.
   */
  readonly searchedLocks?: number
  readonly table: Table
  /**
   * Present when the query names a lock, and the store has answered about it. Null: there is no
   * such lock, or it is outside of the prefix.
   */
  readonly lock?: LockView | null
  readonly elections: readonly ElectionView[]
  /** How many further ones are left out of `elections`. */
  readonly moreElections?: number
  readonly actions: readonly ActionView[]
  readonly refreshMs: number
  readonly waitWarnMs: number
}

export interface StoreView {
  readonly name: string
  /** Such as `redis`. */
  readonly kind: string
  /** Without credentials, as in `holdfast doctor`. */
  readonly address?: string
  readonly state: 'ok' | 'slow' | 'away'
  /** How long the last look took. */
  readonly latencyMs?: number
  /** For how long it has been slow or away. */
  readonly sinceMs?: number
  /** The age of what this view shows. */
  readonly ageMs: number
  readonly error?: { readonly code: string; readonly message: string }
  /** What `holdfast doctor` finds, while the store is away. */
  readonly findings?: readonly {
    readonly isFine: boolean
    readonly text: string
    readonly advice?: string
  }[]
}

export interface Totals {
  readonly locks: number
  readonly holders: number
  readonly waiters: number
  /** How long the first of all waiters has waited; 0 without one. Candidates do not count. */
  readonly oldestWaitMs: number
  /** False until the first walk over all names has ended. */
  readonly isComplete: boolean
  /** The age of the oldest row that the totals count. */
  readonly walkMs?: number
}

/** One point each look since the console began, at most 240, oldest first. */
export interface Lines {
  /** How long ago the first point was taken. */
  readonly sinceMs: number
  readonly locks: readonly number[]
  readonly waiters: readonly number[]
  readonly oldestWaitMs: readonly number[]
  readonly latencyMs: readonly (number | null)[]
}

/**
 * A process that holds or waits. Of a lock outside of the user's prefix all is masked: its name is
 * empty, and its owner is `{ host: '', pid: 0, isForeign: true }`.
 */
export interface OwnerView {
  readonly host: string
  readonly pid: number
  readonly label?: string
  readonly isForeign?: boolean
  readonly isElection?: boolean
  /** Callers of the same process that wait behind this claim, where there are any. */
  readonly localWaiters?: number
}

export type Trouble =
  | {
      readonly kind: 'deadlock'
      readonly cycle: readonly CycleMember[]
      readonly isResolved: boolean
      readonly seenMs: number
    }
  | { readonly kind: 'late-renewal'; readonly lock: string; readonly holder: HolderView }
  | {
      readonly kind: 'old-waiters'
      readonly lock: string
      readonly waiters: number
      readonly oldestMs: number
      readonly inTheWay?: HolderView
    }
  | { readonly kind: 'stolen-but-held'; readonly lock: string; readonly holder: HolderView }
  | {
      readonly kind: 'no-leader'
      readonly lock: string
      readonly candidates: number
      readonly sinceMs: number
    }
  | {
      readonly kind: 'store-slow' | 'store-away'
      readonly sinceMs: number
      readonly latencyMs?: number
    }

/** Holds `lock`, and waits for the lock of the next member. */
export interface CycleMember {
  readonly lock: string
  readonly owner: OwnerView
  readonly heldMs: number
  readonly claimId?: string
  /** Its claim has left the queue of the next member's lock, so that this lock shows no wait. */
  readonly isSilent?: boolean
  /** Its renewal is late. */
  readonly isLate?: boolean
}

export interface Table {
  readonly sort: 'wait' | 'name' | 'held' | 'ttl' | 'waiters'
  readonly search: string
  readonly offset: number
  /** Rows that fit the search. */
  readonly total: number
  readonly rows: readonly Row[]
}

export interface Row {
  readonly lock: string
  readonly kind: 'mutex' | 'read-write' | 'semaphore' | 'election'
  /** The first three holders, and how many there are. */
  readonly holders: readonly HolderView[]
  readonly holderCount: number
  readonly waiterCount: number
  /** How many further processes wait, as `LockView.silentWaiters` has them. Absent without one. */
  readonly silentCount?: number
  readonly oldestWaitMs?: number
  /** Kinds of trouble of this lock. */
  readonly marks: readonly Trouble['kind'][]
  /** The age of this row. */
  readonly ageMs: number
}

export interface HolderView {
  readonly claimId: string
  readonly owner: OwnerView
  readonly mode?: 'read' | 'write'
  readonly weight?: number
  /** A decimal number. */
  readonly token?: string
  readonly heldMs: number
  readonly remainingMs: number
  readonly ttlMs?: number
  readonly isStolen: boolean
  readonly stealReason?: string
  /** It renewed before, and its renewal is overdue. */
  readonly isLate: boolean
}

export interface WaiterView {
  readonly claimId: string
  readonly owner: OwnerView
  readonly mode?: 'read' | 'write'
  readonly weight?: number
  readonly waitedMs: number
  /** What this waiter's process holds meanwhile, where the store knows. */
  readonly holds?: readonly string[]
}

/**
 * A process whose leases show that its work waits for a lock, while its claim has left the queue. A
 * process that stands still, hangs or has lost the store keeps such leases until they end.
 */
export interface SilentWaiterView {
  readonly owner: OwnerView
  /** The visible locks that its work holds meanwhile. */
  readonly holds: readonly string[]
  /** How long ago the latest of these leases was granted or renewed, where the store knows. */
  readonly renewedMs?: number
}

/** One lock in full. */
export interface LockView {
  readonly lock: string
  readonly kind: Row['kind']
  readonly capacity?: number
  readonly isFree: boolean
  /** The first 200. */
  readonly holders: readonly HolderView[]
  /** How many further ones are left out of `holders`. */
  readonly moreHolders?: number
  readonly waiters: readonly WaiterView[]
  /** Waiters beyond the first 200 are counted, not listed. */
  readonly waiterCount: number
  /** Processes that wait and are not in the queue, where there are any. */
  readonly silentWaiters?: readonly SilentWaiterView[]
  /** All callers that wait in the waiters' processes, behind their claims. */
  readonly localWaiters?: number
  readonly lastToken?: string
  readonly ageMs: number
  /** Shell commands to copy, quoted for `sh`. */
  readonly commands: readonly {
    readonly about: 'inspect' | 'watch' | 'steal' | 'doctor'
    readonly command: string
  }[]
  /**
   * The holder in the way of all waiters, then the holder of the lock that this one waits for, and
   * so on. The last one waits for nothing, or for a member that stands before: a cycle.
   */
  readonly chain: readonly CycleMember[]
  readonly history: readonly HistoryEntry[]
  /** How long ago the history began. It also misses what came and went between two looks. */
  readonly historySinceMs: number
}

export interface HistoryEntry {
  readonly atMs: number
  readonly what: 'granted' | 'ended' | 'stolen' | 'lost' | 'forgotten' | 'deadlock'
  readonly owner?: OwnerView
  readonly token?: string
  readonly text?: string
}

export interface ElectionView {
  readonly lock: string
  readonly leader?: HolderView
  readonly candidates: number
}

/** An action, or a try that was refused. */
export interface ActionView {
  /** The name of the store on the page. */
  readonly store: string
  /** When it happened, by the wall clock of the server. */
  readonly atMs: number
  /** Who it was, as `authorize` returned it. */
  readonly user: string
  /** `steal-now` frees the lock under running code. */
  readonly action: 'steal' | 'steal-now'
  /** The full name of the lock. */
  readonly lock: string
  /** The claim that was to end. */
  readonly claimId: string
  /** What the user wrote. */
  readonly reason?: string
  /** `nothing-stolen`: the claim neither held the lock nor waited for it any more. */
  readonly outcome: 'stolen' | 'nothing-stolen' | 'refused' | 'failed'
  /** After a steal: when the lock is free at the latest. Absent while a transaction keeps it. */
  readonly freeInMs?: number
  /** After a refusal or a failure: why, in English. */
  readonly text?: string
}

/**
 * The body of `POST …/api/steal`. The answer is an `ActionView` with the outcome `stolen`,
 * `nothing-stolen` or `failed`. A refusal is an `ApiError`.
 */
export interface StealRequest {
  readonly store?: string
  readonly lock: string
  readonly claimId: string
  /** What the operator typed: has to equal `lock`. */
  readonly typed: string
  readonly reason: string
  readonly now: boolean
}

/** Each refusal and failure of the API. */
export interface ApiError {
  readonly error: { readonly code: string; readonly message: string }
}
