/** What the suite asks of a worker, one JSON line each way. */

export type WorkerRequest =
  /** Takes a mutex and keeps it. Answered with the token when it is held. */
  | { readonly ask: 'acquire'; readonly lock: string; readonly ttlMs: number }
  /** Gives back what `acquire` took. Answered with the outcome. */
  | { readonly ask: 'release'; readonly lock: string }
  /** Whether it believes to hold the lock, and whether it was told of a loss. */
  | { readonly ask: 'held'; readonly lock: string }
  /** Contends for a mutex until told to stop, writing a history to a file. Answered at once. */
  | {
      readonly ask: 'contend'
      readonly lock: string
      readonly ttlMs: number
      readonly actors: number
      readonly workMs: number
      readonly history: string
    }
  /** Ends the contention and closes the client. Answered when all is given back. */
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
