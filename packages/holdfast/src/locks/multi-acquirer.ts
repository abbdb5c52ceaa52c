/** Acquires the locks of a multi-lock, one after the other: all of them, or none. */
import { withCallerFrames } from '../async/caller-frames.js'
import { LockLostError, LockTimeoutError } from '../errors.js'
import type { Client } from '../lease/client.js'
import { asHeldLease } from '../lease/hold/held-lease.js'
import type { Lease } from '../lease/hold/lease.js'
import {
  ACQUIRE_KEYS,
  checkWait,
  RUN_KEYS,
  type AcquireOptions,
  type RunOptions,
} from '../options/lock-options.js'
import { timeoutWithHolders } from '../lease/wait/timeout-with-holders.js'
import { checkKeys } from '../options/known-keys.js'
import { noFunction } from '../options/no-function.js'
import { fixedSettings, keepAllTaken } from './at-least.js'
import type { BasicLock } from './lock.js'
import { HeldMultiLease, releaseAll, type MultiLease } from './multi-lease.js'

/** How long to wait before all are taken again when one was lost on the way, in milliseconds. */
const AGAIN_MS = 10

export class MultiAcquirer {
  readonly #client: Client
  readonly #locks: readonly BasicLock[]

  constructor(client: Client, locks: readonly BasicLock[]) {
    this.#client = client
    this.#locks = locks
  }

  async run<T>(
    work: (lease: MultiLease) => T | PromiseLike<T>,
    options: RunOptions = {},
  ): Promise<T> {
    if (typeof work !== 'function') throw noFunction('run of a multi-lock', work)
    checkKeys('run', options, RUN_KEYS)
    const terms = this.#locks.map((lock) => this.#termsOf(lock, options))
    const { atLeastMs } = options
    const waitMs = checkWait(options.waitMs, this.#client.waitLimits.waitMs)
    const untilMs = this.#client.runtime.clock.monotonicMs() + waitMs
    let begun = false
    const begin = async (lease: MultiLease): Promise<T> => {
      if (atLeastMs !== undefined) await keepAllTaken(lease.leases.map(asHeldLease), atLeastMs)
      lease.assertHeld()
      begun = true
      return work(lease)
    }
    for (;;) {
      try {
        return await this.#enter(begin, untilMs, terms)
      } catch (error) {
        if (begun) throw error
        if (error instanceof LockTimeoutError)
          throw await timeoutWithHolders(this.#client.runtime, waitMs, error)
        if (
          !(error instanceof LockLostError) ||
          this.#client.runtime.clock.monotonicMs() >= untilMs
        )
          throw withCallerFrames(error, 1)
      }
      await this.#pause()
    }
  }

  /**
   * Nests one run in the other: each opens its frame, releases what it took, and reports its own
   * loss.
   */
  #enter<T>(
    begin: (lease: MultiLease) => Promise<T>,
    untilMs: number,
    terms: readonly RunOptions[],
    leases: readonly Lease[] = [],
  ): Promise<T> {
    const lock = this.#locks[leases.length]
    if (!lock) return begin(new HeldMultiLease(leases))
    const inside = (lease: Lease): Promise<T> =>
      this.#enter(begin, untilMs, terms, [...leases, lease])
    return lock.run(inside, this.#withRest(terms[leases.length] as RunOptions, untilMs))
  }

  /** With `atLeastMs` each lock is taken with a fixed lease, and kept once all are there. */
  #termsOf(lock: BasicLock, options: RunOptions): RunOptions {
    const { atLeastMs, ...terms } = options
    if (atLeastMs === undefined) return terms
    const { ttlMs } = fixedSettings(this.#client, lock.name, lock.settings, options)
    return { ...terms, ttlMs, renew: false }
  }

  /**
   * With what is left of the wait. A caller that names no end of it waits through a short outage
   * only.
   */
  #withRest(options: RunOptions, untilMs: number): RunOptions {
    if (untilMs === Infinity) return options
    return { ...options, waitMs: Math.max(0, untilMs - this.#client.runtime.clock.monotonicMs()) }
  }

  /**
   * A lease of an outer run that has just ended may look alive for a moment; nothing else must
   * stand still meanwhile.
   */
  #pause(): Promise<void> {
    return new Promise((resolve) => void this.#client.runtime.clock.timer(AGAIN_MS, resolve))
  }

  async acquire(options: AcquireOptions = {}): Promise<MultiLease> {
    checkKeys('acquire', options, ACQUIRE_KEYS)
    const waitMs = checkWait(options.waitMs, this.#client.waitLimits.waitMs)
    const untilMs = this.#client.runtime.clock.monotonicMs() + waitMs
    for (;;) {
      const lease = await this.#acquireAll(untilMs, waitMs, options)
      if (lease.held) return lease
      // A release that fails in an outage must not end the wait.
      await lease[Symbol.asyncDispose]()
      if (this.#client.runtime.clock.monotonicMs() >= untilMs) throw this.#neverAll(waitMs)
      await this.#pause()
    }
  }

  /** Each of them was got in time, and one was lost before the rest was there, again and again. */
  #neverAll(waitMs: number): LockTimeoutError {
    return new LockTimeoutError(waitMs, {
      lock: this.#locks.map(({ name }) => name).join(', '),
      store: this.#client.runtime.store.name,
      advice:
        'Each was granted, but never all at once: a lease ended first. Raise its ttlMs or maxHoldMs.',
    })
  }

  async tryAcquire(options: AcquireOptions = {}): Promise<MultiLease | undefined> {
    checkKeys('tryAcquire', options, ACQUIRE_KEYS)
    const untilMs = this.#client.runtime.clock.monotonicMs() + checkWait(options.waitMs, 0)
    for (;;) {
      const lease = await this.#tryAll(untilMs, options)
      if (!lease || lease.held) return lease
      // One was lost while the rest was waited for.
      await lease.release()
      if (this.#client.runtime.clock.monotonicMs() >= untilMs) return undefined
      await this.#pause()
    }
  }

  async #tryAll(untilMs: number, options: AcquireOptions): Promise<MultiLease | undefined> {
    const leases: Lease[] = []
    for (const lock of this.#locks) {
      const lease = await undoOnError(leases, () =>
        lock.tryAcquire(this.#withRest(options, untilMs)),
      )
      if (!lease) {
        await releaseAll(leases)
        return undefined
      }
      leases.push(lease)
    }
    return new HeldMultiLease(leases)
  }

  async #acquireAll(untilMs: number, waitMs: number, options: AcquireOptions): Promise<MultiLease> {
    const leases: Lease[] = []
    for (const lock of this.#locks) {
      const lease = await undoOnError(leases, async () => {
        try {
          return await lock.acquire(this.#withRest(options, untilMs))
        } catch (error) {
          if (!(error instanceof LockTimeoutError)) throw error
          throw await timeoutWithHolders(this.#client.runtime, waitMs, error)
        }
      })
      leases.push(lease)
    }
    return new HeldMultiLease(leases)
  }
}

async function undoOnError<T>(leases: readonly Lease[], step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    for (const lease of leases.toReversed()) await lease[Symbol.asyncDispose]()
    throw error
  }
}
