/**
 * Several locks as one: all of them or none.
 *
 * They are taken in the order of their names, so two multi-locks can never wait for each other. A
 * lease that is lost while the rest is still being waited for gives everything back and begins
 * again.
 */
import { LockUsageError } from '../errors.js'
import type { Client } from '../lease/client.js'
import type { AcquireOptions, RunOptions } from '../options/lock-options.js'
import { BasicLock, type Lockable } from './lock.js'
import { MultiAcquirer } from './multi-acquirer.js'
import type { MultiLease } from './multi-lease.js'

/** Several locks that are taken as one: all of them or none. */
export interface MultiLock {
  /** The full names, in the order in which they are taken. */
  readonly names: readonly string[]
  /**
   * Runs `work` under all locks. Throws as `run` of one lock does. With `atLeastMs` all stay taken
   * for at least that long after the last of them was granted.
   */
  run<T>(work: (lease: MultiLease) => T | PromiseLike<T>, options?: RunOptions): Promise<T>
  /** Waits for all locks. Throws as `acquire` of one lock does. */
  acquire(options?: AcquireOptions): Promise<MultiLease>
  /** Resolves to undefined when one of the locks is busy. Throws as that of one lock does. */
  tryAcquire(options?: AcquireOptions): Promise<MultiLease | undefined>
}

export function multi(client: Client, locks: readonly Lockable[]): MultiLock {
  const inOrder = sorted(client, locks)
  const acquirer = new MultiAcquirer(client, inOrder)
  return {
    names: inOrder.map((lock) => lock.name),
    run: (work, options) => acquirer.run(work, options),
    acquire: (options) => acquirer.acquire(options),
    tryAcquire: (options) => acquirer.tryAcquire(options),
  }
}

function sorted(client: Client, locks: readonly Lockable[]): BasicLock[] {
  if (!Array.isArray(locks) || locks.length === 0)
    throw new LockUsageError('multi needs an array of at least one lock.')
  const byName = new Map<string, BasicLock>()
  for (const lock of locks as readonly unknown[]) {
    if (!(lock instanceof BasicLock)) {
      throw new LockUsageError(
        'multi takes mutexes, readers, writers, and semaphores through withWeight(n).',
      )
    }
    if (lock.client !== client) {
      throw new LockUsageError(
        `multi takes locks of one client; "${lock.name}" was made by another createLocks.`,
        {
          lock: lock.name,
        },
      )
    }
    if (byName.has(lock.name)) {
      throw new LockUsageError(`multi was given "${lock.name}" twice; it would wait for itself.`, {
        lock: lock.name,
      })
    }
    byName.set(lock.name, lock)
  }
  // By code units: the same order on every machine and in every locale.
  return [...byName.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, lock]) => lock)
}
