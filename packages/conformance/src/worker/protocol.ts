/** The requests of the suite to a worker and the answers, one line of JSON each. */

export type WorkerRequest =
  /** Acquires a mutex and keeps it. Answered with the token when it is held. */
  | { readonly ask: 'acquire'; readonly lock: string; readonly ttlMs: number }
  /** Waits for a mutex that is held. Answered when the claim has joined the queue. */
  | { readonly ask: 'wait'; readonly lock: string; readonly ttlMs: number }
  /**
   * Runs work that does not end, with `atLeastMs`. Answered with the token when it has begun.
   */
  | { readonly ask: 'keep'; readonly lock: string; readonly atLeastMs: number }
  /** Runs work that does not end in a slot. Answered with the token when it has begun. */
  | {
      readonly ask: 'tick'
      readonly lock: string
      readonly slot: number
      readonly atLeastMs: number
      readonly ttlMs: number
    }
  /** Releases the lease of `acquire`. Answered with the outcome. */
  | { readonly ask: 'release'; readonly lock: string }
  /** Answered with `lease.held`, and whether the signal has aborted. */
  | { readonly ask: 'held'; readonly lock: string }
  /** Contends for a mutex until `stop`, and writes a history to a file. Answered at once. */
  | {
      readonly ask: 'contend'
      readonly lock: string
      readonly ttlMs: number
      readonly actors: number
      readonly workMs: number
      readonly history: string
    }
  /**
   * Stops the process by SIGSTOP, between two turns of its event loop. One that is stopped from
   * outside may keep a file locked. Answered when it continues.
   */
  | { readonly ask: 'freeze' }
  /** Ends the contention and closes the client. Answered when all leases are released. */
  | { readonly ask: 'stop' }

export type WorkerAnswer =
  | {
      readonly answer: 'held'
      readonly held: boolean
      readonly aborted: boolean
      readonly token?: string
    }
  | { readonly answer: 'released'; readonly outcome: string }
  | { readonly answer: 'done' }
  | { readonly answer: 'error'; readonly message: string }

export interface Envelope<T> {
  readonly id: number
  readonly body: T
}
