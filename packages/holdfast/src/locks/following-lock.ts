/** A semaphore's lock that uses the capacity in force: `onMismatch: 'follow'`. */
import type { HeldLease } from '../lease/hold/held-lease.js'
import type { AcquireTrace } from '../lease/runtime/acquire-trace.js'
import type { AcquireOptions, RunOptions } from '../options/lock-options.js'
import { follow, runFollowing } from './follow-capacity.js'
import { BasicLock } from './lock.js'

export class FollowingLock extends BasicLock {
  override runFor<T>(
    trace: AcquireTrace | undefined,
    work: (lease: HeldLease) => T | PromiseLike<T>,
    options?: RunOptions,
  ): Promise<T> {
    return runFollowing(this, trace, work, options)
  }

  override acquireFor(
    trace: AcquireTrace | undefined,
    options?: AcquireOptions,
  ): Promise<HeldLease> {
    return follow(this, options, async (lock, rest) => lock.acquireFor(trace, rest))
  }

  override tryAcquireFor(
    trace: AcquireTrace | undefined,
    options?: AcquireOptions,
  ): Promise<HeldLease | undefined> {
    const waitMs = options?.waitMs ?? 0
    return follow(this, options, (lock, rest) => lock.tryAcquireFor(trace, rest), waitMs)
  }

  override adoptExported(handle: string): Promise<HeldLease> {
    return follow(this, undefined, (lock) => lock.adoptExported(handle))
  }
}
