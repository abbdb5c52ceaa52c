/** Takes the lock for `holdfast run`, as a mutex, a reader or one of several permits. */
import { isLockError, type Lease, type Locks } from 'holdfast'
import { after } from '../timers.js'
import type { Sharing } from './settings.js'
import type { StoreContact } from './store-contact.js'

export interface AcquireRequest {
  readonly locks: Locks
  readonly name: string
  readonly sharing: Sharing
  readonly waitMs: number
  readonly signal: AbortSignal
  readonly contact: StoreContact
}

interface Acquirer {
  acquire(options: { waitMs: number; signal: AbortSignal }): Promise<Lease>
  tryAcquire(): Promise<Lease | undefined>
}

/** How long to wait after an attempt that found no store. */
const AGAIN_MS = 500

/** Waits for the lock. A store that cannot be reached is tried again until the wait is over; other errors end it. */
export async function acquire(request: AcquireRequest): Promise<Lease> {
  const { locks, name, sharing, waitMs, signal, contact } = request
  const untilMs = performance.now() + waitMs
  for (;;) {
    const leftMs = untilMs - performance.now()
    try {
      return await lockOf(locks, name, sharing).acquire({ waitMs: Math.max(0, leftMs), signal })
    } catch (error) {
      // The wait may have been given up with just such an error as its reason.
      if (signal.aborted || !isLockError(error) || error.code !== 'STORE_UNAVAILABLE') throw error
      contact.failed(error)
      if (performance.now() + AGAIN_MS >= untilMs) throw error
    }
    await pause(signal)
  }
}

/** Ends early when the signal aborts; the next attempt rejects with its reason. */
function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = after(AGAIN_MS, end)
    signal.addEventListener('abort', end)
  })
}

export function lockOf(locks: Locks, name: string, sharing: Sharing): Acquirer {
  if (sharing.kind === 'permits') return locks.semaphore(name, { permits: sharing.permits })
  return sharing.kind === 'shared' ? locks.readWriteLock(name).read : locks.mutex(name)
}
