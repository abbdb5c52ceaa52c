/** Calls about any lock. The client loads them with the first one. */
import { pendingCall } from '../async/keep-alive.js'
import type { Client } from '../lease/client.js'
import { releaseHandle, renewHandle } from '../lease/adopt/export-and-adopt.js'
import { checkNoOptions } from '../options/known-keys.js'
import type { HolderInfo } from '../store/contract.js'
import type { Lease } from '../lease/hold/lease.js'
import {
  findLock,
  inspectLocks,
  pingStore,
  type InspectOptions,
  type PingOptions,
} from './look-up.js'
import { oncePerTick, type TickOptions, type TickResult } from './once-per-tick.js'
import { steal, type StealLockOptions } from './steal.js'

/** @param named gives the full name of a lock, namespace included */
export function storeCalls(client: Client, namespace: string, named: (name: unknown) => string) {
  /** Returns the holders of a lock, by its full name. */
  async function holders(lock: string): Promise<readonly HolderInfo[]> {
    return (await findLock(client.runtime.store, lock))?.holders ?? []
  }

  return {
    holders,
    inspect: (options?: InspectOptions) => pendingCall(inspectLocks(client, namespace, options)),
    ping: (options?: PingOptions) => pendingCall(pingStore(client, named('ping'), options)),
    steal: (name: string, options?: StealLockOptions) =>
      pendingCall(steal(client, named(name), options)),
    renewHandle(handle: string, extra?: unknown) {
      checkNoOptions('renewHandle', extra)
      return pendingCall(renewHandle(client, handle))
    },
    releaseHandle(handle: string, extra?: unknown) {
      checkNoOptions('releaseHandle', extra)
      return pendingCall(releaseHandle(client, handle))
    },
    oncePerTick<T>(
      name: string,
      work: (lease: Lease) => T | PromiseLike<T>,
      options: TickOptions,
    ): Promise<TickResult<T>> {
      const full = named(name)
      return oncePerTick(client, full, () => holders(full), work, options)
    },
  }
}
