/** What all other locks have in common: acquire, work, release. */
import type { Recorder } from '@holdfast/conformance'

/** The lock, as the work under it sees it. */
export interface PlainHold {
  readonly token?: bigint
  /** Whether the lock's own means say that it is still held. */
  believed(): boolean
}

export type Work = (hold: PlainHold) => Promise<void>

/** One actor's handle on one lock. It writes the history of acquiring and releasing. */
export interface PlainLock {
  /** Rejects when it could not be acquired, or not be released. */
  run(work: Work): Promise<void>
}

/** The locks of one process. */
export interface PlainSubject {
  lock(name: string, recorder: Recorder): PlainLock
  close(): void
}
