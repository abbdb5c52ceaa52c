/** Takes the lock for `holdfast run`, as a mutex, a reader or one of several permits. */
import type { Lease, Locks } from 'holdfast'
import type { Sharing } from './settings.js'

export interface AcquireRequest {
  readonly locks: Locks
  readonly name: string
  readonly sharing: Sharing
  readonly waitMs: number
  readonly signal: AbortSignal
}

interface Acquirer {
  acquire(options: { waitMs: number; signal: AbortSignal }): Promise<Lease>
}

export function acquire(request: AcquireRequest): Promise<Lease> {
  const { waitMs, signal } = request
  return acquirerOf(request).acquire({ waitMs, signal })
}

function acquirerOf({ locks, name, sharing }: AcquireRequest): Acquirer {
  if (sharing.kind === 'permits') return locks.semaphore(name, { permits: sharing.permits })
  return sharing.kind === 'shared' ? locks.readWriteLock(name).read : locks.mutex(name)
}
