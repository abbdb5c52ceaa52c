/** A semaphore's lock that uses the capacity in force: `onMismatch: 'follow'`. */
import { LockTimeoutError, LockUsageError } from '../errors.js'
import type { Client } from '../lease/client.js'
import type { HeldLease } from '../lease/hold/held-lease.js'
import type { AcquireOptions, LockSettings, RunOptions } from '../options/lock-options.js'
import type { ClaimTemplate } from '../lease/runtime/runtime.js'
import { timeoutOf } from '../lease/wait/timeout-of.js'
import { BasicLock } from './lock.js'

/** How often one call follows: another client may change the capacity between two attempts. */
const FOLLOWS = 8

type Use<T, O> = (lock: BasicLock, options: O) => Promise<T>

export class FollowingLock extends BasicLock {
  readonly #template: ClaimTemplate
  readonly #settings: LockSettings

  constructor(client: Client, template: ClaimTemplate, settings: LockSettings) {
    super(client, template, settings)
    this.#template = template
    this.#settings = settings
  }

  override run<T>(
    work: (lease: HeldLease) => T | PromiseLike<T>,
    options?: RunOptions,
  ): Promise<T> {
    let hasBegun = false
    const begin = (lease: HeldLease): T | PromiseLike<T> => {
      hasBegun = true
      return work(lease)
    }
    const checked = typeof work === 'function' ? begin : work
    return this.#follow(
      options,
      (lock, rest) => lock.run(checked, rest),
      () => !hasBegun,
    )
  }

  override acquire(options?: AcquireOptions): Promise<HeldLease> {
    return this.#follow(options, (lock, rest) => lock.acquire(rest))
  }

  override tryAcquire(options?: AcquireOptions): Promise<HeldLease | undefined> {
    const { waitMs = 0 } = options ?? {}
    return this.#follow(options, (lock, rest) => lock.tryAcquire(rest), undefined, waitMs)
  }

  override adopt(handle: string, extra?: unknown): Promise<HeldLease> {
    return this.#follow(undefined, (lock) => lock.adopt(handle, extra))
  }

  /** Asks with the lock's own capacity first, and then with the one that the refusal names. */
  async #follow<T, O extends AcquireOptions>(
    options: O | undefined,
    use: Use<T, O | undefined>,
    mayFollow = (): boolean => true,
    waitMs = options?.waitMs ?? this.client.waitLimits.waitMs,
  ): Promise<T> {
    const { clock } = this.client.runtime
    const startedMs = clock.monotonicMs()
    let { capacity } = this.#template
    let rest = options
    for (let follows = 0; ; follows += 1) {
      const template = { ...this.#template, capacity }
      try {
        return await use(new BasicLock(this.client, template, this.#settings), rest)
      } catch (error) {
        if (error instanceof LockTimeoutError && follows > 0 && mayFollow())
          throw await timeoutOf(this.client.runtime, waitMs, error)
        const inForce = this.#capacityIn(error)
        if (inForce === undefined || follows === FOLLOWS || !mayFollow()) throw error
        capacity = inForce
      }
      if (waitMs === Infinity) continue
      const goneMs = clock.monotonicMs() - startedMs
      rest = { ...(options as O), waitMs: Math.max(0, waitMs - goneMs) }
    }
  }

  /** Returns the number of permits in force that a refusal names, if the weight fits into it. */
  #capacityIn(error: unknown): number | undefined {
    if (!(error instanceof LockUsageError) || error.lock !== this.name) return undefined
    const { kind, capacity = 0 } = error.inUse ?? {}
    return kind === 'semaphore' && capacity >= this.#template.weight ? capacity : undefined
  }
}
