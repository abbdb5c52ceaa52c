/** Calls about any lock. The client loads them with the first one. */
import type { Client } from '../lease/client.js'
import { releaseHandle, renewHandle } from '../lease/adopt/export-and-adopt.js'
import { checkNoOptions } from '../options/known-keys.js'
import type { HolderInfo } from '../store/contract.js'
import type { Locks } from './create.js'
import { findLock, inspectLocks, pingStore } from './look-up.js'
import { oncePerTick } from './once-per-tick.js'
import { steal } from './steal.js'

/** @param named gives the full name of a lock, namespace included */
export function storeCalls(client: Client, namespace: string, named: (name: unknown) => string) {
  /** Returns the holders of a lock, by its full name. */
  async function holders(lock: string): Promise<readonly HolderInfo[]> {
    return (await findLock(client.runtime.store, lock))?.holders ?? []
  }

  const calls = {
    inspect: (options) => inspectLocks(client, namespace, options),
    ping: (options) => pingStore(client, named('ping'), options),
    steal: (name, options) => steal(client, named(name), options),
    renewHandle(handle, extra?: unknown) {
      checkNoOptions('renewHandle', extra)
      return renewHandle(client, handle)
    },
    releaseHandle(handle, extra?: unknown) {
      checkNoOptions('releaseHandle', extra)
      return releaseHandle(client, handle)
    },
    oncePerTick(name, work, options) {
      const full = named(name)
      return oncePerTick(client, full, () => holders(full), work, options)
    },
  } satisfies Partial<Locks>
  return { ...calls, holders }
}
