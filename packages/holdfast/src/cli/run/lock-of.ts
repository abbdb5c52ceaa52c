/** Returns the lock of `holdfast run`: a mutex, a reader, or one of several permits. */
import type { Lease, Locks } from '../../index.js'
import type { Sharing } from './settings.js'

interface Acquirer {
  acquire(options: { waitMs: number; signal: AbortSignal }): Promise<Lease>
  tryAcquire(): Promise<Lease | undefined>
}

export function lockOf(locks: Locks, name: string, sharing: Sharing): Acquirer {
  if (sharing.kind === 'permits') return locks.semaphore(name, { permits: sharing.permits })
  return sharing.kind === 'shared' ? locks.readWriteLock(name).read : locks.mutex(name)
}
