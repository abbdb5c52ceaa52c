/**
 * A readers-writer lock: many readers or one writer. Nothing overtakes, so a waiting writer stops
 * later readers.
 */
import type { Client } from '../lease/client.js'
import type { WriteLease } from '../lease/hold/lease.js'
import { LOCK_KEYS, lockSettings, type LockOptions } from '../options/lock-options.js'
import { checkKeys } from '../options/known-keys.js'
import { CAPACITY_ALL } from '../store/contract.js'
import { BasicLock, type Lockable } from './lock.js'
import type { LockState } from './look-up.js'

/** A lock for many readers or one writer, in the order of the queue. */
export interface ReadWriteLock {
  /** The full name, namespace included. */
  readonly name: string
  /**
   * Shared with other readers. A nested `run` always enters, inside of a reader and of the writer:
   * a waiting writer would deadlock it otherwise.
   */
  readonly read: Lockable
  /** Alone. Its lease has `downgrade()`. */
  readonly write: Lockable<WriteLease>
  /** As `inspect` of its reader and of its writer. */
  inspect(): Promise<LockState>
}

export function readWriteLock(
  client: Client,
  name: string,
  options: LockOptions = {},
): ReadWriteLock {
  checkKeys('readWriteLock', options, LOCK_KEYS, { lock: name })
  const settings = lockSettings(options, client.settings, client.runtime.store)
  const template = {
    lock: name,
    kind: 'readWriteLock',
    capacity: CAPACITY_ALL,
    ttlMs: settings.ttlMs,
  } as const
  const read = new BasicLock(client, { ...template, weight: 1 }, settings)
  return {
    name,
    read,
    write: new BasicLock(client, { ...template, weight: CAPACITY_ALL }, settings),
    inspect: (extra?: unknown) => read.inspect(extra),
  }
}
