/**
 * Sees to it that the command does not outlive its lease.
 *
 * While renewals succeed, what remains of a lease never falls far below two thirds of its TTL. When
 * it does fall, to the time that SIGTERM, `--kill-after` and SIGKILL need, the store has been
 * silent for long, and nobody can say whether it will answer in time: then the command is ended, so
 * that SIGKILL falls before the lease ends. Waiting for the loss itself would be too late: at that
 * moment the next holder starts.
 */
import type { EndReason } from './termination.js'

/** What the watch needs of a lease; the library's `Lease` has it. */
export interface WatchedLease {
  readonly remainingMs: number
  readonly signal: AbortSignal
  renew(): Promise<void>
}

export type OnLost = 'term' | 'kill' | 'warn'

export interface LeaseWatchOptions {
  readonly lease: WatchedLease
  /** Calls back after each renewal that the store acknowledged. Returns what stops that. */
  readonly onRenewed: (listener: () => void) => () => void
  readonly ttlMs: number
  readonly killAfterMs: number
  readonly onLost: OnLost
  /** End the job; SIGKILL falls after `graceMs`. */
  readonly end: (reason: EndReason, graceMs: number) => void
  /** Tells the guardian how long the command may live if we say no more. */
  readonly guardFor: (ms: number) => void
  /** The lease is lost, or (`sure` false) about to be. Called once. */
  readonly warn: (sure: boolean) => void
}

/** Time for the signals themselves, and for timers that fire late. */
export function safetyMs(ttlMs: number, killAfterMs: number): number {
  const wished = ttlMs / 100 + 50
  // A short TTL has no room for it: take at most half of what a healthy renewal leaves.
  return Math.max(0, Math.min(wished, ((ttlMs * 2) / 3 - killAfterMs) / 2))
}

/**
 * When the guardian strikes by itself: after our own SIGKILL was due, and before the lease ends.
 */
export function guardMs(remainingMs: number, ttlMs: number, killAfterMs: number): number {
  return remainingMs - safetyMs(ttlMs, killAfterMs) / 2
}

export class LeaseWatch {
  readonly #options: LeaseWatchOptions
  readonly #safetyMs: number
  /**
   * When the lease ends, as far as was known at the last look; a lost lease does not tell any more.
   */
  #endsAtMs = -Infinity
  #timer: NodeJS.Timeout | undefined
  /** When the next look is due. A look long after that means that this process was stopped. */
  #dueMs = Infinity
  #asking: Promise<void> | undefined
  #over = false
  readonly #stopListening: () => void

  constructor(options: LeaseWatchOptions) {
    this.#options = options
    this.#safetyMs = safetyMs(options.ttlMs, options.killAfterMs)
    const { signal } = options.lease
    // At once, and not at the next look: the guardian kills by the last end of the lease that it
    // heard of.
    this.#stopListening = options.onRenewed(() => void this.#look())
    signal.addEventListener('abort', () => this.#lost(true), { once: true })
    if (signal.aborted) this.#lost(true)
    else void this.#look()
  }

  /**
   * Looks at once, after this process was stopped and goes on. Says whether the job may go on as
   * well.
   */
  async resume(): Promise<boolean> {
    if (this.#over) return this.#options.onLost === 'warn'
    await this.#look()
    return !this.#over || this.#options.onLost === 'warn'
  }

  close(): void {
    this.#over = true
    clearTimeout(this.#timer)
    this.#stopListening()
  }

  /** Looks at the lease and plans the next look. Gives a promise only while the store is asked. */
  #look(): Promise<void> | undefined {
    // With `warn` the command may live on, so only the loss itself is worth a word.
    if (this.#over || this.#options.onLost === 'warn') return undefined
    const { remainingMs } = this.#options.lease
    if (remainingMs > 0) this.#noteEnd(remainingMs)
    if (this.#asking) return this.#asking
    const spareMs = remainingMs - this.#neededMs()
    if (spareMs > 0) return this.#lookIn(Math.min(spareMs, this.#options.ttlMs / LOOKS_PER_TTL))
    if (remainingMs === 0) return this.#ask(DOUBT_MS)
    // Nobody could ask for a renewal while this process was stopped. The store may answer in the
    // time that is left.
    const askMs = Math.min(DOUBT_MS, remainingMs - this.#safetyMs)
    if (askMs > 0 && performance.now() - this.#dueMs > LATE_MS) return this.#ask(askMs)
    this.#lost(false)
    return undefined
  }

  #lookIn(ms: number): undefined {
    clearTimeout(this.#timer)
    const delayMs = Math.min(Math.max(ms, 1), MAX_TIMER_MS)
    this.#dueMs = performance.now() + delayMs
    this.#timer = setTimeout(() => void this.#look(), delayMs)
  }

  #noteEnd(remainingMs: number): void {
    const endsAtMs = performance.now() + remainingMs
    // The two clocks are read one after the other; less than a millisecond is no renewal.
    if (endsAtMs < this.#endsAtMs + 1) return
    this.#endsAtMs = endsAtMs
    this.#options.guardFor(guardMs(remainingMs, this.#options.ttlMs, this.#options.killAfterMs))
  }

  /**
   * Asks the store once, and looks again with its answer. Either this process was stopped for long,
   * or the lease says that it is not held, and not that it is lost: its clocks disagree, because
   * the machine slept or somebody set the time. Only the store knows; a set clock alone must not
   * end the command.
   */
  #ask(limitMs: number): Promise<void> {
    const { lease } = this.#options
    clearTimeout(this.#timer)
    this.#asking = new Promise((resolve) => {
      const settle = (renewed: boolean): void => {
        if (!this.#asking) return
        this.#asking = undefined
        clearTimeout(timer)
        // The answer counts as a look in time: a lease that has no time left now is not asked for
        // again.
        this.#dueMs = performance.now()
        if (renewed && lease.remainingMs > 0) void this.#look()
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
    // A steal leaves the rest of the lease for cleaning up; a lease that ended leaves nothing.
    const leftMs = this.#endsAtMs - performance.now() - this.#safetyMs
    end('lost', onLost === 'kill' ? 0 : Math.min(killAfterMs, leftMs))
  }
}

const LOOKS_PER_TTL = 6
/** Later than this no timer fires on a machine that merely has much to do. */
const LATE_MS = 20
/** How long the store may take to settle a doubt, while the command runs unsure of its lock. */
const DOUBT_MS = 500
/** setTimeout's own limit; beyond it a timer fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1
