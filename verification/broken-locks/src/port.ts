/**
 * What a control needs of its surroundings, and what it offers to its tests.
 *
 * Everything comes in from outside, time and randomness included, so that one and the same lock
 * runs in virtual time over a modelled Redis, and against a real server.
 */
import type { Clock, Random } from 'holdfast'
import type { HistoryNote } from '@holdfast/conformance'

/** What Redis answers, as its clients show it: an error is thrown instead. */
export type Reply = string | number | null | readonly Reply[]

/** The name and the arguments of a command. */
export type Command = readonly [name: string, ...args: (string | number)[]]

/**
 * Redis answered with an error: a command then had no effect, a script may have done a part. Any
 * other error of a port leaves the outcome open. Clients such as ioredis throw errors of their own
 * with this name.
 */
export class ReplyError extends Error {
  override readonly name = 'ReplyError'
}

export function isReplyError(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError'
}

/** Runs one command inside a script; throws a ReplyError where Redis would. */
export type SendCommand = (...command: Command) => Reply

/**
 * A script, once for a real server and once for the modelled one. A test holds the two together.
 */
export interface Script {
  readonly name: string
  readonly lua: string
  /** The same as the Lua text. It must only call commands and compute. */
  readonly run: (call: SendCommand, keys: readonly string[], args: readonly string[]) => Reply
}

export interface Subscription {
  close(): void
}

/**
 * A connection to Redis. An answer may come late, or never: who waits must have a limit of their
 * own.
 */
export interface RedisPort {
  command(...command: Command): Promise<Reply>
  script(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<Reply>
  /** Resolves when the server has confirmed it; `listener` gets the messages from then on. */
  subscribe(channel: string, listener: (message: string) => void): Promise<Subscription>
}

/**
 * One process's surroundings. `clock.wallMs` is that machine's wall clock, which may be wrong and
 * may jump.
 */
export interface ControlWorld {
  readonly clock: Clock
  readonly random: Random
  readonly redis: RedisPort
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
  /** Rejects if it stays unclear what became of the lock. */
  release(): Promise<'released' | 'lost'>
  /** Called once if the lease ends before it is released; at once if it has. */
  onLost(listener: () => void): void
}
