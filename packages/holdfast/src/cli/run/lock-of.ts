/** Returns the lock of a run: a mutex, a reader, one of several permits, or a leadership. */
import type { Lease, Locks } from '../../index.js'
import type { Sharing } from './settings.js'

interface Acquirer {
  acquire(options: { waitMs: number; signal: AbortSignal }): Promise<Lease>
  tryAcquire(): Promise<Lease | undefined>
}

export function lockOf(locks: Locks, name: string, sharing: Sharing): Acquirer {
  if (sharing.kind === 'permits') return locks.semaphore(name, { permits: sharing.permits })
  if (sharing.kind === 'shared') return locks.readWriteLock(name).read
  const mutex = locks.mutex(name)
  if (sharing.kind === 'exclusive') return mutex
  const election = locks.election(name)
  return {
    acquire: (options) => election.campaign(options),
    tryAcquire: () => mutex.tryAcquire(),
  }
}
