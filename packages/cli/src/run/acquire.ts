/**
 * Takes the lock for `holdfast run`, as a mutex, a reader or one of several permits.
 */
import { LockTimeoutError, type Lease, type Locks } from 'holdfast'
import { setTimeout as sleep } from 'node:timers/promises'
import { lookUpLock } from './waiting.js'
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
  const forms = formsOf(request)
  const endsAtMs = performance.now() + request.waitMs
  for (;;) {
    for (const form of forms) {
      const waitMs = Math.max(0, endsAtMs - performance.now())
      try {
        return await form.acquire({ waitMs, signal: request.signal })
      } catch (error) {
        if (!(await isOtherForm(error, request))) throw error
      }
    }
    const leftMs = endsAtMs - performance.now()
    if (leftMs <= 0) throw new LockTimeoutError(request.waitMs, { lock: request.name })
    const pauseMs = Math.min(leftMs, LOOK_AGAIN_MS * (0.5 + Math.random()))
    // The reason of an aborted wait is whatever aborted it, not the timer's own error.
    await sleep(pauseMs, undefined, { signal: request.signal }).catch(() => request.signal.throwIfAborted())
  }
}

function formsOf({ locks, name, sharing }: AcquireRequest): readonly Acquirer[] {
  if (sharing.kind === 'permits') return [locks.semaphore(name, { permits: sharing.permits })]
  const { read, write } = locks.readWriteLock(name)
  return sharing.kind === 'shared' ? [read] : [locks.mutex(name), write]
}

const LOOK_AGAIN_MS = 250

/** Whether the lock was refused only because it is in use in the other of the two forms that exclude each other. */
async function isOtherForm(error: unknown, request: AcquireRequest): Promise<boolean> {
  if ((error as { code?: unknown }).code !== 'LOCK_MISMATCH' || request.sharing.kind === 'permits')
    return false
  const info = await lookUpLock(request.locks, request.name)
  return info?.kind !== 'semaphore'
}
