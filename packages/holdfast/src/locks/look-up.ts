/** What a client asks the store outside of a lease: how one lock stands, and whether it answers. */
import { LockUsageError } from '../errors.js'
import { onAbort } from '../async/abort-listeners.js'
import { forOneCaller } from '../async/caller-frames.js'
import type { Client } from '../lease/client.js'
import type { WaitOptions } from '../options/lock-options.js'
import type { ClaimTemplate, Runtime } from '../lease/runtime/runtime.js'
import { limitsOf } from '../lease/wait/caller-wait.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import type { HolderInfo, LockInfo, Store } from '../store/contract.js'
import { withJson } from '../store/with-json.js'

/** The state of one lock. */
export interface LockState extends LockInfo {
  /** How many permits of a semaphore no lease has. Undefined for other locks. */
  readonly freePermits: number | undefined
}

/** The options of `locks.ping`. */
export type PingOptions = Pick<WaitOptions, 'signal'>

const PING_KEYS: KnownKeys<PingOptions> = { signal: 1 }

/** A copy: the store may show the same object again. */
export function lockWithJson<T extends LockInfo>(info: T): T {
  return withJson({ ...info, holders: info.holders.map((holder) => withJson({ ...holder })) })
}

/** Resolves to what the store knows of a lock; undefined when it has no holders and no waiters. */
export async function findLock(store: Store, lock: string): Promise<LockInfo | undefined> {
  const [info] = await store.inspect([lock])
  return info && lockWithJson(info)
}

/** Resolves to the holders of a lock. Its queue may be long, and is not read. */
export async function findHolders(store: Store, lock: string): Promise<readonly HolderInfo[]> {
  const [info] = await store.inspect([lock], [])
  return info ? lockWithJson(info).holders : []
}

/** Returns the state of a lock that no client has used. */
export function freeLock(template: Pick<ClaimTemplate, 'lock' | 'kind' | 'capacity'>): LockState {
  const { lock, kind, capacity } = template
  const unused = { holders: [], waiters: [], lastToken: undefined, freePermits: undefined }
  return lockWithJson({ lock, kind, capacity, ...unused })
}

/** Resolves to the state of a lock, by one request. */
export async function inspectLock(
  { runtime }: Client,
  { lock, kind, capacity }: Pick<ClaimTemplate, 'lock' | 'kind' | 'capacity'>,
): Promise<LockState> {
  runtime.assertOpen(lock)
  const free = freeLock({ lock, kind, capacity })
  let found: LockInfo | undefined
  try {
    found = await findLock(runtime.store, lock)
  } catch (error) {
    throw runtime.asLockError(error, lock, 'the inspection')
  }
  const info: LockInfo = found ?? free
  const held = info.holders.reduce((sum, { weight }) => sum + weight, 0)
  const freePermits = info.kind === 'semaphore' ? Math.max(0, info.capacity - held) : undefined
  return lockWithJson({ ...info, freePermits })
}

/**
 * Resolves when the store has answered one request.
 * @param lock a name to ask for, which changes nothing
 */
export async function pingStore(
  { runtime, waitLimits }: Client,
  lock: string,
  options: PingOptions = {},
): Promise<{ readonly latencyMs: number }> {
  checkKeys('ping', options, PING_KEYS)
  const { signal } = limitsOf(lock, options, waitLimits)
  const { store, clock } = runtime
  assertOpenFor(runtime, 'ping')
  const startedMs = clock.monotonicMs()
  try {
    await untilAborted(findLock(store, lock), signal)
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason
    throw forOneCaller(runtime.asLockError(error, lock, 'the ping'))
  }
  return { latencyMs: clock.monotonicMs() - startedMs }
}

/** @throws LockUsageError (`LOCKS_CLOSED`) when the client was closed. */
export function assertOpenFor({ closed, store }: Runtime, call: string): void {
  if (!closed) return
  throw new LockUsageError(
    `${call} was called after locks.close(). Make a new client with createLocks.`,
    { code: 'LOCKS_CLOSED', store: store.name },
  )
}

/** Settles as `promise` does, or rejects with the reason of the signal. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const stop = onAbort(signal, () => reject(signal.reason as Error))
    promise.then(resolve, reject).finally(stop)
  })
}
