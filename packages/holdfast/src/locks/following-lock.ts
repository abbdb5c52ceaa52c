/** A semaphore's lock that uses the capacity in force: `onMismatch: 'follow'`. */
import type { HeldLease } from '../lease/hold/held-lease.js'
import type { AcquireOptions, RunOptions } from '../options/lock-options.js'
import type { Use } from './follow-capacity.js'
import { BasicLock } from './lock.js'

export class FollowingLock extends BasicLock {
  override async run<T>(
    work: (lease: HeldLease) => T | PromiseLike<T>,
    options?: RunOptions,
  ): Promise<T> {
    return (await import('./follow-capacity.js')).runFollowing(this, work, options)
  }

  override acquire(options?: AcquireOptions): Promise<HeldLease> {
    return this.#follow(options, (lock, rest) => lock.acquire(rest))
  }

  override tryAcquire(options?: AcquireOptions): Promise<HeldLease | undefined> {
    return this.#follow(options, (lock, rest) => lock.tryAcquire(rest), options?.waitMs ?? 0)
  }

  override adopt(handle: string, extra?: unknown): Promise<HeldLease> {
    return this.#follow(undefined, (lock) => lock.adopt(handle, extra))
  }

  async #follow<T>(
    options: AcquireOptions | undefined,
    use: Use<T, AcquireOptions>,
    waitMs?: number,
  ): Promise<T> {
    return (await import('./follow-capacity.js')).follow(this, options, use, waitMs)
  }
}
