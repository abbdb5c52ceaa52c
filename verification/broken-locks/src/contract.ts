/**
 * The contract between a broken lock and its harness: what the lock gets from its surroundings, and
 * what it offers to its tests.
 *
 * Everything comes in from outside, time and randomness included. So the same lock runs in virtual
 * time over a modelled Redis, and against a real server.
 */
import type { Clock, Random } from 'holdfast'
import type { HistoryNote } from '@holdfast/conformance'
import type { RedisConnection } from './redis-connection.js'

/**
 * One process's surroundings. `clock.wallMs` is that machine's wall clock, which may be wrong and
 * may jump.
 */
export interface ControlWorld {
  readonly clock: Clock
  readonly random: Random
  readonly redis: RedisConnection
}

export interface ControlSettings {
  /** The lock's name, which is also its key in Redis. */
  readonly lock: string
  readonly ttlMs: number
  /** How long an answer may take before it counts as lost. */
  readonly requestTimeoutMs: number
  /**
   * How often a lock without wake-ups looks again, and how long any other waits at most for a
   * wake-up.
   */
  readonly retryMs: number
  /** Writes the history. The user of a control must not note the same again. */
  readonly history?: HistoryWriter
}

/**
 * What a control records of itself, at the moment when it happens. The `Recorder` of
 * @holdfast/conformance is one.
 */
export interface HistoryWriter {
  note(note: HistoryNote): void
  deadlineNs(remainingMs: () => number): bigint
}

/** One process's handle on one lock: the owner, where a lock distinguishes owners. */
export interface ControlLock {
  /**
   * Waits until the lock is granted. Rejects with the signal's reason when that is aborted, and
   * with a ReplyError if Redis refuses.
   */
  acquire(signal?: AbortSignal): Promise<ControlLease>
}

export interface ControlLease {
  readonly token?: bigint
  /** Whether the holder believes in its lease, asked without waiting for anything. */
  readonly held: boolean
  /** Rejects if the release stays in doubt. */
  release(): Promise<'released' | 'lost'>
  /** Called once if the lease ends before it is released; at once if it has. */
  onLost(listener: () => void): void
}
