/** The calls of proper-lockfile, over `lockPath`. */
import type { Lease } from 'holdfast'
import { lockPath } from 'holdfast/embedded'

export interface ShimOptions {
  /** As many seconds to wait, since a waiter is woken. */
  readonly retries?: number
  readonly stale?: number
  readonly onCompromised?: (error: unknown) => void
}

export type Release = () => Promise<'released' | 'lost'>

/** By the name of the lock, on which all paths of a file agree. */
const held = new Map<string, Lease>()

export async function lock(file: string, options: ShimOptions = {}): Promise<Release> {
  const { retries = 0, stale = 10_000, onCompromised } = options
  const lease = await lockPath(file, { ttlMs: stale }).tryAcquire({ waitMs: retries * 1_000 })
  if (!lease) throw failure('ELOCKED', 'Lock file is already being held')
  held.set(lease.name, lease)
  lease.signal.addEventListener('abort', () => onCompromised?.(lease.signal.reason))
  return () => {
    if (held.get(lease.name) === lease) held.delete(lease.name)
    return lease.release()
  }
}

export async function unlock(file: string): Promise<void> {
  const { lock: name } = await lockPath(file).inspect()
  const lease = held.get(name)
  if (!lease) throw failure('ENOTACQUIRED', 'Lock is not acquired/owned by you')
  held.delete(name)
  await lease.release()
}

export async function check(file: string): Promise<boolean> {
  return (await lockPath(file).inspect()).holders.length > 0
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
