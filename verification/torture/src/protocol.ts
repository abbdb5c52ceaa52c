/** What the conductor and its client processes say to each other. */
import type { Connection } from '@holdfast/stores/connection'
import type { Heir, LockChoice } from '@holdfast/workload'

/**
 * What is tried: the real library, the command line, a lock that is broken on purpose, or another
 * library.
 */
export type SubjectName = 'holdfast' | 'command-line' | `control:${string}` | `peer:${string}`

/** What a client process is started with, as JSON in its first argument. */
export interface Assignment {
  readonly subject: SubjectName
  readonly store: string
  readonly connection: Connection
  /** A folder with a compiled copy of the library, where it is broken on purpose. */
  readonly copy?: string
  readonly seed: number
  readonly index: number
  /** How many processes stood in this one's place before. */
  readonly generation: number
  readonly actors: number
  readonly ttlMs: number
  /** Whether it holds some leases for seconds as well: see `client/long-holds.ts`. */
  readonly longHolds: boolean
  /** Whether it renews some leases late as well: see `client/late-renewers.ts`. */
  readonly late: boolean
  /** Whether it shares locks as well: see `client/sharers.ts`. */
  readonly shares: boolean
  /** Whether a thread renews beside the event loop: see `client/blocks.ts`. */
  readonly blocks: BlockTerms | undefined
  /** How many waiters crowd two locks beside the actors: see `client/crowd.ts`. */
  readonly waiters: number
  /** Codes of errors that the faults of this run explain. */
  readonly tolerated: readonly string[]
  /** The file of this process's history. */
  readonly history: string
  /** The file of what a history has no words for: see `Note`. */
  readonly notes: string
  /** The socket of the resource that the locks protect. */
  readonly resource: string
}

export interface BlockTerms {
  readonly blockedAtMostMs: number
  /** No other fault can end a lease, so that the thread has to keep it. */
  readonly keeps: boolean
}

/** A line of the notes. */
export type Note = LossNote | BreachNote | BackgroundNote | BlockNote

/** The event loop of a process was blocked. */
export interface BlockNote {
  readonly note: 'block'
  readonly pid: number
  readonly start_ns: string
  readonly end_ns: string
}

/** A lease ended without its holder's will, and the holder learned of it. */
export interface LossNote {
  readonly note: 'loss'
  readonly key: string
  readonly client: string
  readonly pid: number
  readonly reason: string
  /**
   * Until when the lease was known to last, and when its signal announced the loss: nanoseconds of
   * the shared clock.
   */
  readonly deadline_ns: string
  readonly announced_ns: string
}

/** A promise that only the process itself can see broken. */
export interface BreachNote {
  readonly note: 'breach'
  readonly property: string
  readonly key: string
  readonly message: string
  readonly at_ns: string
}

/**
 * Something failed where no caller could learn of it. No promise is broken by that alone, but it
 * explains what follows.
 */
export interface BackgroundNote {
  readonly note: 'background'
  readonly key: string
  readonly claim: string
  readonly during: string
  readonly error: string
}

/** A lease that a client has exported, on its way to the clients that adopt it. */
export interface ExportedLease {
  /** Names it in the names of its heirs: see `judge/adoptions.ts`. */
  readonly id: string
  readonly choice: LockChoice
  readonly handle: string
  readonly token: string
}

export type ToClient =
  /** Begin nothing new, and end soon what is held. */
  | { readonly ask: 'drain' }
  /** Give everything back and end. */
  | { readonly ask: 'close' }
  /** Report when a lock is held that no other client may hold now. */
  | { readonly ask: 'holding' }
  /** Block the event loop. Below zero, `byMs` is after how long the thread that renews stops. */
  | { readonly ask: 'block'; readonly forMs: number; readonly byMs: number }
  /** Adopt a lease, and work under it. */
  | {
      readonly ask: 'adopt'
      readonly name: string
      readonly exported: ExportedLease
      readonly workMs: number
    }

export type FromClient =
  | { readonly said: 'ready' }
  | {
      readonly said: 'count'
      readonly leases: number
      readonly losses: number
      readonly waiting: number
    }
  | { readonly said: 'holding' }
  /** The event loop turns again. */
  | { readonly said: 'woke' }
  | {
      readonly said: 'exported'
      readonly exported: ExportedLease
      readonly heirs: readonly Heir[]
    }
  | { readonly said: 'drained' }
  | { readonly said: 'closed' }
