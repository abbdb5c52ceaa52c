/** A semaphore's lock that uses the capacity in force: `onMismatch: 'follow'`. */
import type { Client } from '../lease/client.js'
import type { HeldLease } from '../lease/hold/held-lease.js'
import type { AcquireOptions, LockSettings, RunOptions } from '../options/lock-options.js'
import type { ClaimTemplate } from '../lease/runtime/runtime.js'
import type { Use } from './follow-capacity.js'
import { BasicLock } from './lock.js'

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

  async #follow<T, O extends AcquireOptions>(
    options: O | undefined,
    use: Use<T, O>,
    mayFollow = (): boolean => true,
    waitMs = options?.waitMs ?? this.client.waitLimits.waitMs,
  ): Promise<T> {
    const { follow } = await import('./follow-capacity.js')
    const makeLock = (capacity: number): BasicLock =>
      new BasicLock(this.client, { ...this.#template, capacity }, this.#settings)
    return follow({ runtime: this.client.runtime, template: this.#template, makeLock }, use, {
      options,
      waitMs,
      mayFollow,
    })
  }
}
