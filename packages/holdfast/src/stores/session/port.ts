/** What a store over locks of a database session needs of the database. */

/**
 * A connection of our own, whose session holds locks. Statements are sent one after the other. Rejections are `LockError`s;
 * one of them after `ended` means that nothing is held any more.
 */
export interface LockConnection {
  /** The server has ended the session, or it turned out not to be ours. Never undone. */
  readonly ended: boolean
  /** Takes the lock for the session unless another session has it. May be taken several times. */
  take(lock: string, shared: boolean): Promise<boolean>
  /** Gives back what was taken once. */
  drop(lock: string, shared: boolean): Promise<void>
  /** A sign of life. */
  touch(): Promise<void>
  /** Ends the session, and with it all its locks. */
  end(): void
}

export interface SessionPort {
  /** Such as `postgres`. */
  readonly name: string
  /** Whether a lock can be shared. */
  readonly sharing: boolean
  /** The longest time that a session can be left silent, in milliseconds. With a step more it fits into one timer. */
  readonly longestMs: number
  /** Sessions may be left silent for so many milliseconds, or a multiple: locks of nearly equal TTLs share one. */
  readonly stepMs: number
  /**
   * Opens a session that the server ends by itself when it has been silent for `timeoutMs`, and hardly longer. Once
   * `givenUp` is aborted nobody awaits it: its connections, also one that comes late, are to be ended.
   */
  open(timeoutMs: number, givenUp: AbortSignal): Promise<LockConnection>
}
