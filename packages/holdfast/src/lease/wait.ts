/**
 * One caller's wait for a lock: its time limit, its abort signal, and the promise that it will get.
 *
 * A wait settles exactly once. When it gives up, whoever does the waiting for it is told, so that
 * what stands in a queue for it can be taken out.
 */
import type { Timer } from '../clock/clock.js'
import { LockTimeoutError, LockUsageError, type LockError } from '../errors.js'
import type { Place } from '../collections/linked-set.js'
import { onAbort } from './abort.js'
import type { Client } from './client.js'
import type { HeldLease } from './lease.js'
import type { Outage } from './outage.js'
import { checkObject, checkWait, type AcquireOptions } from './settings.js'

/** What a client ends when it is closed. */
export interface Closable {
  close(): void
}

/** How long a caller is prepared to wait. */
export interface WaitLimits {
  readonly waitMs: number
  /**
   * How long the store may be away, in milliseconds. Infinity for a caller that says how long it
   * waits.
   */
  readonly outageMs: number
  readonly signal: AbortSignal | undefined
}

/**
 * The limits that a caller's options say.
 * @param what the options are of, for errors
 * @throws LockUsageError when they make no sense, and the reason of a signal that is aborted
 * already.
 */
export function limitsOf(
  client: Client,
  lock: string,
  what: string,
  options: AcquireOptions,
): WaitLimits {
  checkObject(`the options of ${what}`, options)
  const { signal } = options
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new LockUsageError('signal must be an AbortSignal.', { lock })
  }
  signal?.throwIfAborted()
  if (options.waitMs === undefined) return { ...client.waitLimits, signal }
  return { waitMs: checkWait(options.waitMs, client.waitMs), outageMs: Infinity, signal }
}

/** @typeParam T what it may end with */
export class Wait<T = HeldLease> {
  readonly promise: Promise<T>
  readonly startedMs: number
  /** How long this caller may keep what it waits for. */
  readonly maxHoldMs: number
  settled = false
  /** Called when the caller gives up before it was served. */
  onGiveUp: (() => void) | undefined
  /** Asked when the time is over: why nobody knows whether the lock is busy, where that is so. */
  failure: (() => LockError | undefined) | undefined
  readonly #client: Client
  readonly #place: Place<Closable>
  readonly #lock: string
  #resolve!: (lease: T) => void
  #reject!: (reason: unknown) => void
  #timer: Timer | undefined
  #outageMs = Infinity
  #stopListening: (() => void) | undefined

  constructor(client: Client, lock: string, startedMs: number, maxHoldMs = Infinity) {
    this.#client = client
    this.#lock = lock
    this.maxHoldMs = maxHoldMs
    this.startedMs = startedMs
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#place = client.waits.add(this)
  }

  /** Starts the clock of the wait and listens to the caller's signal, which is not aborted yet. */
  limit({ waitMs, outageMs, signal }: WaitLimits): void {
    this.#outageMs = outageMs
    if (waitMs !== Infinity) this.#arm(this.startedMs + waitMs, waitMs)
    if (signal) this.#stopListening = onAbort(signal, () => this.giveUp(signal.reason))
  }

  serve(lease: T): void {
    this.#settle()
    this.#resolve(lease)
  }

  /** The wait failed, through no wish of the caller. */
  fail(reason: unknown): void {
    this.#settle()
    this.#reject(reason)
  }

  giveUp(reason: unknown): void {
    if (this.settled) return
    this.#settle()
    this.#reject(reason)
    this.onGiveUp?.()
  }

  /** The store does not answer. */
  noteOutage({ silentMs, error }: Outage): void {
    if (silentMs >= this.#outageMs) this.giveUp(error)
  }

  /** Ends the wait since its client was closed. */
  close(): void {
    this.giveUp(this.#client.closedError(this.#lock))
  }

  /** A clock may clamp a long timer, so the time is looked at again when it fires. */
  #arm(untilMs: number, waitMs: number): void {
    const leftMs = untilMs - this.#client.clock.monotonicMs()
    this.#timer = this.#client.clock.timer(leftMs, () => {
      if (this.#client.clock.monotonicMs() < untilMs) this.#arm(untilMs, waitMs)
      else this.giveUp(this.failure?.() ?? this.#timeout(waitMs))
    })
  }

  #timeout(waitMs: number): LockTimeoutError {
    return new LockTimeoutError(waitMs, { lock: this.#lock, store: this.#client.store.name })
  }

  #settle(): void {
    this.settled = true
    this.#client.waits.delete(this.#place)
    this.#timer?.cancel()
    this.#stopListening?.()
  }
}
