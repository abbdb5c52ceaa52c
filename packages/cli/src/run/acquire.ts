/**
 * Takes the lock for `holdfast run`, as a mutex, a reader or one of several permits.
 */
import type { Lease, Locks } from 'holdfast'
import type { LockKind } from 'holdfast/store'
import { setTimeout as sleep } from 'node:timers/promises'
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

/**
 * An exclusive run and a shared run of one name must exclude each other, and an exclusive run must also exclude a
 * program's `mutex` of that name. The store keeps the two kinds apart, so a run that finds the lock in use as the
 * other kind takes its other form (the writer's), or looks again until the lock is idle and changes its kind.
 */
export async function acquire(request: AcquireRequest): Promise<Lease> {
  const { locks, name, sharing } = request
  if (sharing.kind === 'permits') return attempt(request, locks.semaphore(name, { permits: sharing.permits }))
  const endsAtMs = performance.now() + request.waitMs
  for (;;) {
    const forms: Acquirer[] =
      sharing.kind === 'shared'
        ? [locks.readWriteLock(name).read]
        : [locks.mutex(name), locks.readWriteLock(name).write]
    for (const form of forms) {
      try {
        return await attempt({ ...request, waitMs: Math.max(0, endsAtMs - performance.now()) }, form)
      } catch (error) {
        if (!(await isOtherForm(error, request))) throw error
      }
    }
    if (performance.now() >= endsAtMs) return attempt({ ...request, waitMs: 0 }, forms[0] as Acquirer)
    await sleep(LOOK_AGAIN_MS * (0.5 + Math.random()), undefined, { signal: request.signal })
  }
}

const LOOK_AGAIN_MS = 250

function attempt(request: AcquireRequest, lock: Acquirer): Promise<Lease> {
  return lock.acquire({ waitMs: request.waitMs, signal: request.signal })
}

/** Whether the lock was refused only because it is in use in the other of the two forms that exclude each other. */
async function isOtherForm(error: unknown, request: AcquireRequest): Promise<boolean> {
  if ((error as { code?: unknown }).code !== 'LOCK_MISMATCH') return false
  const kind = await kindOf(request.locks, request.name)
  return kind !== 'semaphore'
}

async function kindOf(locks: Locks, name: string): Promise<LockKind | undefined> {
  const found = await locks.inspect({ prefix: name })
  return found.find((info) => info.lock === name)?.kind
}
