/** Releases the lock of a handle, for operators. */
import type { Locks } from '../../index.js'
import { CliError } from '../cli-error.js'

/** @throws CliError when the lock was lost before */
export async function releaseHandle(locks: Locks, handle: string): Promise<'released'> {
  const outcome = await locks.releaseHandle(handle)
  if (outcome === 'released') return outcome
  throw new CliError(
    'The lock of this handle was lost before: its TTL passed, it was stolen, or it was released long ago.',
    'LOCK_LOST',
  )
}
