/** Calls about any lock. */
import { pendingCall, storeCall } from '../async/keep-alive.js'
import type { Client } from '../lease/client.js'
import { releaseHandle, renewHandle } from '../lease/adopt/export-and-adopt.js'
import { checkNoOptions } from '../options/known-keys.js'
import type { HolderInfo } from '../store/contract.js'
import type { Lease } from '../lease/hold/lease.js'
import { inspectLocks, type InspectOptions } from './inspect-locks.js'
import { findHolders, pingStore, type PingOptions } from './look-up.js'
import { oncePerTick, type TickOptions, type TickResult } from './once-per-tick.js'
import { notOfSlot } from './slot-name.js'
import { steal, type StealLockOptions } from './steal.js'

/**
 * Returns these calls as members of a client. All of them reject, and never throw.
 * @param named gives the full name of a lock, namespace included
 */
export function storeCalls(client: Client, namespace: string, named: (name: unknown) => string) {
  return {
    inspect: async (options?: InspectOptions) =>
      storeCall(inspectLocks(client, namespace, options)),
    ping: async (options?: PingOptions) => pendingCall(pingStore(client, named('ping'), options)),
    steal: async (name: string, options?: StealLockOptions) =>
      storeCall(steal(client, named(name), options)),
    async renewHandle(handle: string, extra?: unknown) {
      checkNoOptions('renewHandle', extra)
      return storeCall(renewHandle(client, handle))
    },
    async releaseHandle(handle: string, extra?: unknown) {
      checkNoOptions('releaseHandle', extra)
      return storeCall(releaseHandle(client, handle))
    },
    async oncePerTick<T>(
      name: string,
      work: (lease: Lease) => T | PromiseLike<T>,
      options: TickOptions,
    ): Promise<TickResult<T>> {
      const full = notOfSlot(named(name))
      return oncePerTick(client, full, (lock) => holdersOf(client, lock), work, options)
    },
  }
}

/** Returns the holders of a lock, by its full name. */
export async function holdersOf(client: Client, lock: string): Promise<readonly HolderInfo[]> {
  return storeCall(findHolders(client.runtime.store, lock))
}
