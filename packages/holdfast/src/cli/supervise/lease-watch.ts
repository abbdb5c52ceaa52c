/**
 * Ends the command before its lease ends.
 *
 * While renewals succeed, the rest of a lease never falls far below two thirds of its TTL. When it
 * falls to the time that SIGTERM, `--kill-after` and SIGKILL need, the store has been silent for
 * long and may not answer in time. Then the watch ends the command, so that SIGKILL falls before
 * the lease ends. The loss itself would be too late: at that moment the next holder starts.
 */
import type { EndReason } from './termination.js'

/** The part of a lease that the watch uses. */
export interface WatchedLease {
  readonly remainingMs: number
  readonly signal: AbortSignal
  renew(): Promise<void>
}

export type OnLost = 'term' | 'kill' | 'warn'

export interface LeaseWatchOptions {
  readonly lease: WatchedLease
  /**
   * Calls back after each renewal that the store acknowledged. Returns a function that stops it.
   */
  readonly onRenewed: (listener: () => void) => () => void
  readonly ttlMs: number
  readonly killAfterMs: number
  readonly onLost: OnLost
  /** Ends the job; SIGKILL falls after `graceMs`. */
  readonly end: (reason: EndReason, graceMs: number) => void
  /** Reports to the guardian how long the command may live without a later report. */
  readonly guardFor: (ms: number) => void
  /** Called once, when the lease is lost, or (`sure` false) is about to be. */
  readonly warn: (sure: boolean) => void
}

/** Returns the time for the signals themselves, and for timers that fire late. */
export function safetyMs(ttlMs: number, killAfterMs: number): number {
  const wished = ttlMs / 100 + 50
  // A short TTL has no room for it: take at most half of the rest after a healthy renewal.
  return Math.max(0, Math.min(wished, ((ttlMs * 2) / 3 - killAfterMs) / 2))
}

/**
 * Returns when the guardian strikes: after the wrapper's own SIGKILL was due, and before the lease
 * ends.
 */
export function guardMs(remainingMs: number, ttlMs: number, killAfterMs: number): number {
  return remainingMs - safetyMs(ttlMs, killAfterMs) / 2
}

export class LeaseWatch {
  readonly #options: LeaseWatchOptions
  readonly #safetyMs: number
  /** When the lease ends, as of the last look; a lost lease no longer has an end. */
  #endsAtMs = -Infinity
  #timer: NodeJS.Timeout | undefined
  /** When the next look is due. A look long after it means that this process was stopped. */
  #dueMs = Infinity
  #asking: Promise<void> | undefined
  #over = false
  readonly #stopListening: () => void

  constructor(options: LeaseWatchOptions) {
    this.#options = options
    this.#safetyMs = safetyMs(options.ttlMs, options.killAfterMs)
    const { signal } = options.lease
    // At once, not at the next look: the guardian kills by the last end that was reported to it.
    this.#stopListening = options.onRenewed(() => void this.#check())
    signal.addEventListener('abort', () => this.#lost(true), { once: true })
    if (signal.aborted) this.#lost(true)
    else void this.#check()
  }

  /**
   * Checks the lease after this process was stopped and continues. Resolves to whether the job may
   * continue.
   */
  async resume(): Promise<boolean> {
    if (this.#over) return this.#options.onLost === 'warn'
    await this.#check()
    return !this.#over || this.#options.onLost === 'warn'
  }

  close(): void {
    this.#over = true
    clearTimeout(this.#timer)
    this.#stopListening()
  }

  /** Checks the lease and plans the next look. Returns a promise only while the store is asked. */
  #check(): Promise<void> | undefined {
    // With `warn` the command may keep running, so only the loss itself is reported.
    if (this.#over || this.#options.onLost === 'warn') return undefined
    const { remainingMs } = this.#options.lease
    if (remainingMs > 0) this.#noteEnd(remainingMs)
    if (this.#asking) return this.#asking
    const spareMs = remainingMs - this.#neededMs()
    if (spareMs > 0) return this.#checkIn(Math.min(spareMs, this.#options.ttlMs / CHECKS_PER_TTL))
    if (remainingMs === 0) return this.#ask(DOUBT_MS)
    // While this process was stopped it sent no renewal. The store may answer in the time that is
    // left.
    const askMs = Math.min(DOUBT_MS, remainingMs - this.#safetyMs)
    if (askMs > 0 && performance.now() - this.#dueMs > LATE_MS) return this.#ask(askMs)
    this.#lost(false)
    return undefined
  }

  #checkIn(ms: number): undefined {
    clearTimeout(this.#timer)
    const delayMs = Math.min(Math.max(ms, 1), MAX_TIMER_MS)
    this.#dueMs = performance.now() + delayMs
    this.#timer = setTimeout(() => void this.#check(), delayMs)
  }

  #noteEnd(remainingMs: number): void {
    const endsAtMs = performance.now() + remainingMs
    // The two clocks are read one after the other; a difference under a millisecond is no renewal.
    if (endsAtMs < this.#endsAtMs + 1) return
    this.#endsAtMs = endsAtMs
    this.#options.guardFor(guardMs(remainingMs, this.#options.ttlMs, this.#options.killAfterMs))
  }

  /**
   * Asks the store once, and looks again with its answer. Either this process was stopped for long,
   * or the lease is neither held nor lost. In the second case its clocks disagree, because the
   * machine slept or its time was set. Only the store knows; a set clock alone must not end the
   * command.
   */
  #ask(limitMs: number): Promise<void> {
    const { lease } = this.#options
    clearTimeout(this.#timer)
    this.#asking = new Promise((resolve) => {
      const settle = (renewed: boolean): void => {
        if (!this.#asking) return
        this.#asking = undefined
        clearTimeout(timer)
        // The answer counts as a look in time: a lease without time left is not renewed again.
        this.#dueMs = performance.now()
        if (renewed && lease.remainingMs > 0) void this.#check()
        else this.#lost(lease.signal.aborted)
        resolve()
      }
      const timer = setTimeout(() => settle(false), limitMs)
      lease.renew().then(
        () => settle(true),
        () => settle(false),
      )
    })
    return this.#asking
  }

  #neededMs(): number {
    return this.#safetyMs + (this.#options.onLost === 'term' ? this.#options.killAfterMs : 0)
  }

  #lost(sure: boolean): void {
    if (this.#over) return
    this.close()
    const { onLost, killAfterMs, warn, end } = this.#options
    warn(sure)
    if (onLost === 'warn') return
    // A steal leaves the rest of the lease for cleaning up; an expired lease leaves nothing.
    const leftMs = this.#endsAtMs - performance.now() - this.#safetyMs
    end('lost', onLost === 'kill' ? 0 : Math.min(killAfterMs, leftMs))
  }
}

const CHECKS_PER_TTL = 6
/** On a machine that is merely busy no timer fires later than this. */
const LATE_MS = 20
/** The longest time for the store's answer while the command runs in doubt of its lock. */
const DOUBT_MS = 500
/** The limit of setTimeout; beyond it a timer fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1
