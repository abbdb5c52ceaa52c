/** Opens the store of a command that inspects or changes locks, and closes it afterwards. */
import { createLocks, type Locks } from '../../index.js'
import { locateStore, type LocateOptions, type StoreLocation } from './locate.js'
import { openStore } from './open-store.js'

export async function withLocks<T>(
  options: LocateOptions,
  use: (locks: Locks, location: StoreLocation) => Promise<T>,
): Promise<T> {
  const location = locateStore(options)
  const locks = createLocks(await openStore(location), { label: 'holdfast command line' })
  try {
    return await use(locks, location)
  } finally {
    await locks.close()
  }
}
