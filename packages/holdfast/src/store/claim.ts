/** A claim on a lock, and the client that makes it. */

/**
 * A mutex is the writer of a readers-writer lock: the two kinds may meet on one lock, and exclude
 * each other. A semaphore shares its lock only with semaphores of the same capacity.
 */
export type LockKind = 'mutex' | 'readWriteLock' | 'semaphore'

/**
 * The capacity of a mutex and of a readers-writer lock: a reader weighs 1, a writer and a mutex
 * weigh all of it.
 */
export const CAPACITY_ALL = 2 ** 31 - 1

/** The processes of a child that runs under a lock. A takeover checks whether they are gone. */
export interface ProcessGroup {
  /** The id of the group. */
  readonly pgid: number
  /** When the group's leader started, in units of the operating system: ids are used again. */
  readonly startTime: string
}

/** The client that makes a claim. `inspect` shows it; it never decides a grant. */
export interface Owner {
  /** Names one `createLocks` call, forever. */
  readonly clientId: string
  /** The name of the machine. */
  readonly host: string
  /** The process of the client. */
  readonly pid: number
  /** The user's own text, such as the command that runs under the lock. */
  readonly label?: string
  /** The child process group that works under the claim, recorded by the command line. */
  readonly group?: ProcessGroup
  /** Present when the claim is a candidate's for leadership, and its lease a leader's. */
  readonly election?: true
  /** The number of further waiters of the same process behind this claim. */
  readonly localWaiters?: number
  /** What the work under this lease waits for, once it has waited for `deadlockCheckMs`. */
  readonly waitsFor?: readonly WaitNote[] | undefined
}

/** A wait of work that holds leases, as the owner of each of these leases shows it. */
export interface WaitNote {
  /** Names this wait, forever. */
  readonly id: string
  /** The full name of the lock that it waits for. */
  readonly lock: string
  /** How much of the lock's capacity it waits for. */
  readonly weight: number
  /** The claim that stands for a shared wait in the queue. An exclusive wait needs none. */
  readonly claimId?: string | undefined
  /** The client that waits, where it is another one than that of the lease. */
  readonly clientId?: string
  /** When it began, by the wall clock of its client. The latest wait of a cycle fails. */
  readonly sinceMs: number
  /** Names the cycle in which its client has seen this wait. */
  readonly cycle?: string | undefined
}

/** One request for a lock. It keeps its id from the first attempt to its withdrawal. */
export interface Claim {
  /** The full name of the lock, namespace included. At most 512 bytes of UTF-8. */
  readonly lock: string
  /** Never used again. Letters, digits, `-`, `_` and `.`; at most 64 characters. */
  readonly id: string
  /** What kind of lock it is. */
  readonly kind: LockKind
  /** How much weight all holders may have together. */
  readonly capacity: number
  /** A claim is exclusive when its weight is the whole capacity. */
  readonly weight: number
  /** How long a grant lasts without a renewal, in milliseconds. */
  readonly ttlMs: number
  /**
   * The longest time between two attempts of a waiter. The store forgets a waiter after three
   * missed heartbeats. A pushed grant lasts for three heartbeats until its first renewal.
   */
  readonly heartbeatMs: number
  /** The client that makes the claim. */
  readonly owner: Owner
}

/** The number of heartbeats that a waiter may miss, and that a pushed grant lasts unrenewed. */
export const HEARTBEATS_TO_LIVE = 3

/** The part of a claim that finds it in the store. */
export interface ClaimRef {
  /** The full name of the lock. */
  readonly lock: string
  /** The id of the claim. */
  readonly id: string
  /** The claim's TTL: how long its tombstone must last. */
  readonly ttlMs: number
}
