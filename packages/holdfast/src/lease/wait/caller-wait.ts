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
import { forOneCaller, rejectForCallers } from '../../async/caller-frames.js'
import { checkWait, type WaitOptions } from '../../options/lock-options.js'
import type { Outage } from './outage.js'
import type { NestedRequest } from '../deadlock/wait-under-leases.js'
import type { ClaimSource, OpenWait } from '../runtime/open-waits.js'
import type { AcquireTrace } from '../runtime/acquire-trace.js'
import type { Runtime } from '../runtime/runtime.js'

/** After a wait of this length the client looks for the holders, in milliseconds. */
export const LONG_WAIT_MS = 1000

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
  /** Set where subscribers trace the call. */
  readonly trace?: AcquireTrace | undefined
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
export class CallerWait<T> implements OpenWait {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare readonly promise: Promise<T>
  declare readonly lock: string
  declare readonly startedMs: number
  /** Undefined without a limit: the engine keeps an object for each field that has Infinity. */
  declare private readonly mostHoldMs: number | undefined
  /** Called when the caller gives up before it was served. */
  declare onGiveUp: ((wait: CallerWait<T>) => void) | undefined
  /** Its place in the queue of a cohort. */
  declare queuePlace: Place<CallerWait<T>> | undefined
  declare source: ClaimSource | undefined
  declare private readonly runtime: Runtime
  declare private readonly limits: WaitLimits
  /** Its place among the waits of the client, for as long as it has not settled. */
  declare private readonly place: Place<OpenWait>
  declare private resolve: (value: T | PromiseLike<T>) => void
  declare private timer: Timer | undefined
  declare private stopListening: (() => void) | undefined
  declare private leaveDetector: (() => void) | undefined

  /**
   * Starts to count, and listens to the caller's signal, which is not aborted yet.
   * @param startedMs when the caller began to wait, by the monotonic clock
   */
  constructor(
    runtime: Runtime,
    lock: string,
    startedMs: number,
    limits: WaitLimits,
    maxHoldMs = Infinity,
  ) {
    this.promise = new Promise((resolve) => (this.resolve = resolve))
    this.lock = lock
    this.startedMs = startedMs
    this.mostHoldMs = maxHoldMs === Infinity ? undefined : maxHoldMs
    this.onGiveUp = this.queuePlace = this.source = undefined
    this.runtime = runtime
    this.limits = limits
    this.place = runtime.waits.add(this)
    this.timer = this.stopListening = this.leaveDetector = undefined
    const { waitMs, signal, nested, trace } = limits
    if (waitMs !== Infinity) this.arm(startedMs + waitMs, waitMs)
    if (signal) this.stopListening = onAbort(signal, () => this.abort(signal.reason))
    if (nested) this.leaveDetector = runtime.deadlocks.add(this, nested)
    trace?.noteWait(this)
  }

  get waitMs(): number {
    return this.limits.waitMs
  }

  /** How long this caller may hold the lock that it waits for. */
  get maxHoldMs(): number {
    return this.mostHoldMs ?? Infinity
  }

  get trace(): AcquireTrace | undefined {
    return this.limits.trace
  }

  /** For how long it still waits, in milliseconds. */
  leftMs(nowMs: number): number {
    return this.startedMs + this.limits.waitMs - nowMs
  }

  /** Ends the wait. It resolves to the value, or as the promise does. */
  serve(value: T | Promise<T>): void {
    this.settle()
    this.resolve(value)
  }

  /** Rejects with a failure that the caller did not ask for. */
  fail(reason: unknown): void {
    this.reject(forOneCaller(reason))
  }

  private reject(reason: unknown): void {
    this.settle()
    this.resolve(rejectForCallers(reason))
  }

  private settle(): void {
    this.limits.trace?.noteClaim()
    invariant(this.runtime.waits.delete(this.place), 'a wait settles once', this.lock)
    this.timer?.cancel()
    this.stopListening?.()
    this.leaveDetector?.()
  }

  /** Rejects for the caller. Has no effect on a wait that has settled. */
  giveUp(reason: unknown): void {
    if (!this.place.taken) return
    this.fail(reason)
    this.onGiveUp?.(this)
  }

  /** Rejects with the reason of the caller's signal itself. */
  private abort(reason: unknown): void {
    if (!this.place.taken) return
    this.reject(reason)
    this.onGiveUp?.(this)
  }

  /** Gives up when the store has been away for too long. */
  noteOutage({ silentMs, error }: Outage): void {
    if (silentMs >= this.limits.outageMs) this.giveUp(error)
  }

  close(): void {
    this.giveUp(this.runtime.closedError(this.lock))
  }

  /** A clock may clamp a long timer, so the timer compares the time again when it fires. */
  private arm(untilMs: number, waitMs: number): void {
    const { clock } = this.runtime
    this.timer = clock.timer(untilMs - clock.monotonicMs(), () => {
      if (clock.monotonicMs() < untilMs) this.arm(untilMs, waitMs)
      else this.expire(waitMs)
    })
  }

  /** Ends the wait at its limit. After a long one its caller learns who held the lock. */
  private expire(waitMs: number): void {
    const { lock } = this
    const { store, owner } = this.runtime
    const { failure, unansweredSinceMs = Infinity } = this.source?.pending ?? {}
    // The claim of a caller that waited behind others of its client may have left a moment ago.
    const isAnswered = unansweredSinceMs - this.startedMs > waitMs / 2
    if (failure !== undefined) this.giveUp(failure)
    else if (this.limits.isTry === true) this.giveUp(STILL_BUSY)
    else if (waitMs < LONG_WAIT_MS || !isAnswered)
      this.giveUp(new LockTimeoutError(waitMs, { lock, store: store.name, isAnswered }))
    else {
      const timeout = this.runtime.holdersOf(lock).then((found) => {
        const { clientId } = owner
        throw new LockTimeoutError(waitMs, { lock, store: store.name, holders: found, clientId })
      })
      this.serve(timeout)
      this.onGiveUp?.(this)
    }
  }
}
