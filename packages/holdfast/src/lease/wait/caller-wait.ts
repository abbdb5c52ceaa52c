/**
 * One caller's wait: its time limit, its abort signal, and its promise.
 *
 * A wait settles exactly once. When its caller gives up, the wait calls `onGiveUp`, so that the
 * queue in which the caller stands can remove it.
 */
import type { Timer } from '../../clock/clock.js'
import { LockTimeoutError, LockUsageError } from '../../errors.js'
import type { Place } from '../../collections/linked-set.js'
import { invariant } from '../../invariant.js'
import { onAbort } from '../../async/abort-listeners.js'
import { LONG_WAIT_MS } from '../runtime/holder-lookups.js'
import { checkWait, type WaitOptions } from '../../options/lock-options.js'
import type { Outage } from './outage.js'
import type { NestedRequest } from '../deadlock/wait-under-leases.js'
import type { ClaimSource, OpenWait } from '../runtime/open-waits.js'
import type { Runtime } from '../runtime/runtime.js'

/** How long a caller is prepared to wait. */
export interface WaitLimits {
  readonly waitMs: number
  /** How long the store may be away, in milliseconds. Infinity where the caller gave `waitMs`. */
  readonly outageMs: number
  readonly signal: AbortSignal | undefined
  /** Set for a caller that runs under other leases. */
  readonly nested?: NestedRequest
  /** Whether the end of the wait is no error: the wait then rejects with `STILL_BUSY`. */
  readonly isTry?: boolean
}

/** What a wait of `tryAcquire` rejects with when its time is over. */
export const STILL_BUSY = Symbol('still busy')

/**
 * Returns the limits that a caller's options name.
 * @param defaults the limits of a caller without options
 * @throws LockUsageError when an option makes no sense, and the reason of a signal that is aborted.
 */
export function limitsOf(lock: string, options: WaitOptions, defaults: WaitLimits): WaitLimits {
  const { signal } = options
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new LockUsageError('signal must be an AbortSignal.', { lock })
  }
  signal?.throwIfAborted()
  if (options.waitMs === undefined) return { ...defaults, signal }
  return { waitMs: checkWait(options.waitMs, defaults.waitMs), outageMs: Infinity, signal }
}

/** @typeParam T the value that the wait resolves to */
export class Wait<T> implements OpenWait {
  readonly promise: Promise<T>
  readonly startedMs: number
  /** How long this caller may hold the lock that it waits for. */
  readonly maxHoldMs: number
  /** Called when the caller gives up before it was served. */
  onGiveUp: (() => void) | undefined
  source: ClaimSource | undefined
  readonly #runtime: Runtime
  readonly #place: Place<OpenWait>
  readonly lock: string
  readonly #isTry: boolean
  #isSettled = false
  #resolve!: (value: T) => void
  #reject!: (reason: unknown) => void
  #timer: Timer | undefined
  readonly #outageMs: number
  #stopListening: (() => void) | undefined
  #leaveDetector: (() => void) | undefined

  /**
   * Starts to count, and listens to the caller's signal, which is not aborted yet.
   * @param startedMs when the caller began to wait, by the monotonic clock
   */
  constructor(
    runtime: Runtime,
    lock: string,
    startedMs: number,
    { waitMs, outageMs, signal, nested, isTry = false }: WaitLimits,
    maxHoldMs = Infinity,
  ) {
    this.#runtime = runtime
    this.lock = lock
    this.maxHoldMs = maxHoldMs
    this.startedMs = startedMs
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#outageMs = outageMs
    this.#isTry = isTry
    this.#place = runtime.waits.add(this)
    if (waitMs !== Infinity) this.#arm(this.startedMs + waitMs, waitMs)
    if (signal) this.#stopListening = onAbort(signal, () => this.giveUp(signal.reason))
    if (nested) this.#leaveDetector = runtime.deadlocks.add(this, nested)
  }

  serve(value: T): void {
    this.#settle()
    this.#resolve(value)
  }

  /** Rejects with a failure that the caller did not ask for. */
  fail(reason: unknown): void {
    this.#settle()
    this.#reject(reason)
  }

  /** Rejects for the caller. Has no effect on a wait that has settled. */
  giveUp(reason: unknown): void {
    if (this.#isSettled) return
    this.fail(reason)
    this.onGiveUp?.()
  }

  /** Gives up when the store has been away for too long. */
  noteOutage({ silentMs, error }: Outage): void {
    if (silentMs >= this.#outageMs) this.giveUp(error)
  }

  close(): void {
    this.giveUp(this.#runtime.closedError(this.lock))
  }

  /** A clock may clamp a long timer, so the timer compares the time again when it fires. */
  #arm(untilMs: number, waitMs: number): void {
    const leftMs = untilMs - this.#runtime.clock.monotonicMs()
    this.#timer = this.#runtime.clock.timer(leftMs, () => {
      if (this.#runtime.clock.monotonicMs() < untilMs) this.#arm(untilMs, waitMs)
      else this.#expire(waitMs)
    })
  }

  /** Ends the wait at its limit. After a long one its caller learns who held the lock. */
  #expire(waitMs: number): void {
    const { lock } = this
    const { store, holders } = this.#runtime
    const { failure, unansweredSinceMs = Infinity } = this.source?.pending ?? {}
    // The claim of a caller that waited behind others of its client may have left a moment ago.
    const isAnswered = unansweredSinceMs - this.startedMs > waitMs / 2
    if (failure !== undefined) this.giveUp(failure)
    else if (this.#isTry) this.giveUp(STILL_BUSY)
    else if (waitMs < LONG_WAIT_MS || !isAnswered)
      this.giveUp(new LockTimeoutError(waitMs, { lock, store: store.name, isAnswered }))
    else {
      this.#settle()
      this.onGiveUp?.()
      void holders.of(lock).then((found) => {
        this.#reject(new LockTimeoutError(waitMs, { lock, store: store.name, holders: found }))
      })
    }
  }

  #settle(): void {
    invariant(!this.#isSettled, 'a wait settles once', this.lock)
    this.#isSettled = true
    this.#runtime.waits.delete(this.#place)
    this.#timer?.cancel()
    this.#stopListening?.()
    this.#leaveDetector?.()
  }
}
