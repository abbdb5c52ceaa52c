/** A semaphore's lock that uses the capacity in force: `onMismatch: 'follow'`. */
import type { HeldLease } from '../lease/hold/held-lease.js'
import type { AcquireOptions, RunOptions } from '../options/lock-options.js'
import { follow, runFollowing } from './follow-capacity.js'
import { BasicLock } from './lock.js'

export class FollowingLock extends BasicLock {
  override run<T>(
    work: (lease: HeldLease) => T | PromiseLike<T>,
    options?: RunOptions,
  ): Promise<T> {
    return runFollowing(this, work, options)
  }

  override acquire(options?: AcquireOptions): Promise<HeldLease> {
    return follow(this, options, (lock, rest) => lock.acquire(rest))
  }

  override tryAcquire(options?: AcquireOptions): Promise<HeldLease | undefined> {
    return follow(this, options, (lock, rest) => lock.tryAcquire(rest), options?.waitMs ?? 0)
  }

  override adopt(handle: string, extra?: unknown): Promise<HeldLease> {
    return follow(this, undefined, (lock) => lock.adopt(handle, extra))
  }
}
