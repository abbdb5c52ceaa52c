/** `--replace`: ends the runs that hold the lock, for the run that is about to wait for it. */
import { hostname } from 'node:os'
import type { Locks } from '../../index.js'
import type { LockSettings } from './settings.js'
import { lookUpLock } from './waiting.js'

/**
 * Ends the holders that a look has shown, and no later one. They release the lock when their
 * commands have ended; waiters keep their places.
 */
export async function endHolders(
  locks: Locks,
  { name, sharing }: Pick<LockSettings, 'name' | 'sharing'>,
): Promise<void> {
  const { store } = locks
  const info = await lookUpLock(locks, name)
  const inUse = info?.kind === 'semaphore' ? info.capacity : undefined
  const asked = sharing.kind === 'permits' ? sharing.permits : undefined
  // The attempt will be refused, and no run would take the place of the holder.
  if (info !== undefined && inUse !== asked) return
  const reason = `replaced by pid ${process.pid} on ${hostname()}`
  for (const { claimId } of info?.holders ?? [])
    await store.steal(name, { claim: claimId, now: false, reason })
}
