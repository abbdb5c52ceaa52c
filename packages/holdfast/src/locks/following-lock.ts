/** A semaphore's lock that uses the capacity in force: `onMismatch: 'follow'`. */
import { LockUsageError } from '../errors.js'
import type { Client } from '../lease/client.js'
import type { Lease } from '../lease/lease.js'
import type { AcquireOptions, LockSettings, RunOptions } from '../lease/options.js'
import type { ClaimTemplate } from '../lease/runtime.js'
import { BasicLock } from './lock.js'

/** How often one call follows: another client may change the capacity between two attempts. */
const FOLLOWS = 8

type Use<T, O> = (lock: BasicLock<Lease> | undefined, options: O) => Promise<T>

export class FollowingLock extends BasicLock<Lease> {
  readonly #template: ClaimTemplate
  readonly #settings: LockSettings

  constructor(client: Client, template: ClaimTemplate, settings: LockSettings) {
    super(client, template, settings)
    this.#template = template
    this.#settings = settings
  }

  override run<T>(
    work: (lease: Lease) => T | PromiseLike<T>,
    options: RunOptions = {},
  ): Promise<T> {
    let hasBegun = false
    const begin = (lease: Lease): T | PromiseLike<T> => {
      hasBegun = true
      return work(lease)
    }
    const checked = typeof work === 'function' ? begin : work
    return this.#follow(
      options,
      (lock, rest) => (lock ? lock.run(checked, rest) : super.run(checked, rest)),
      () => !hasBegun,
    )
  }

  override acquire(options: AcquireOptions = {}): Promise<Lease> {
    return this.#follow(options, (lock, rest) => (lock ? lock.acquire(rest) : super.acquire(rest)))
  }

  override tryAcquire(options: AcquireOptions = {}): Promise<Lease | undefined> {
    return this.#follow(options, (lock, rest) =>
      lock ? lock.tryAcquire(rest) : super.tryAcquire(rest),
    )
  }

  override adopt(handle: string): Promise<Lease> {
    return this.#follow({}, (lock) => (lock ? lock.adopt(handle) : super.adopt(handle)))
  }

  /** Asks with the lock's own capacity first, and then with the one that the refusal names. */
  async #follow<T, O extends AcquireOptions>(
    options: O,
    use: Use<T, O>,
    mayFollow = (): boolean => true,
  ): Promise<T> {
    const { clock } = this.client.runtime
    const { waitMs } = options
    const startedMs = clock.monotonicMs()
    let rest = options
    let lock: BasicLock<Lease> | undefined
    for (let follows = 0; ; follows += 1) {
      try {
        return await use(lock, rest)
      } catch (error) {
        const capacity = this.#capacityIn(error)
        if (capacity === undefined || follows === FOLLOWS || !mayFollow()) throw error
        const template = { ...this.#template, capacity }
        lock = new BasicLock<Lease>(this.client, template, this.#settings)
      }
      if (waitMs !== undefined) {
        const goneMs = clock.monotonicMs() - startedMs
        rest = { ...options, waitMs: Math.max(0, waitMs - goneMs) }
      }
    }
  }

  /** Returns the number of permits in force that a refusal names, if the weight fits into it. */
  #capacityIn(error: unknown): number | undefined {
    if (!(error instanceof LockUsageError) || error.lock !== this.name) return undefined
    const { kind, capacity = 0 } = error.inUse ?? {}
    return kind === 'semaphore' && capacity >= this.#template.weight ? capacity : undefined
  }
}
