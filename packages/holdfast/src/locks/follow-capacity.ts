/** Repeats a call with the number of permits in force: see following-lock.ts. */
import { LockTimeoutError, LockUsageError } from '../errors.js'
import type { HeldLease } from '../lease/hold/held-lease.js'
import type { AcquireTrace } from '../lease/runtime/acquire-trace.js'
import type { ClaimTemplate } from '../lease/runtime/runtime.js'
import { timeoutWithHolders } from '../lease/wait/timeout-with-holders.js'
import type { AcquireOptions, RunOptions } from '../options/lock-options.js'
import { BasicLock } from './lock.js'

/** How often one call follows: another client may change the capacity between two attempts. */
const FOLLOWS = 8

/** A call of a lock. */
export type Use<T, O> = (lock: BasicLock, options: O | undefined) => Promise<T>

/** Runs `work` once. A call that has begun it does not follow. */
export function runFollowing<T>(
  lock: BasicLock,
  trace: AcquireTrace | undefined,
  work: (lease: HeldLease) => T | PromiseLike<T>,
  options: RunOptions | undefined,
): Promise<T> {
  let hasBegun = false
  const begin = (lease: HeldLease): T | PromiseLike<T> => {
    hasBegun = true
    return work(lease)
  }
  const checked = typeof work === 'function' ? begin : work
  const use: Use<T, RunOptions> = (one, rest) => one.runFor(trace, checked, rest)
  return follow(lock, options, use, undefined, () => !hasBegun)
}

/** Asks with the lock's own capacity first, and then with the one that the refusal names. */
export async function follow<T, O extends AcquireOptions>(
  { client, template, settings }: BasicLock,
  options: O | undefined,
  use: Use<T, O>,
  waitMs = options?.waitMs ?? client.waitLimits.waitMs,
  mayFollow = (): boolean => true,
): Promise<T> {
  const { runtime } = client
  const { clock } = runtime
  const startedMs = clock.monotonicMs()
  let { capacity } = template
  let rest = options
  for (let follows = 0; ; follows += 1) {
    try {
      return await use(new BasicLock(client, { ...template, capacity }, settings), rest)
    } catch (error) {
      if (error instanceof LockTimeoutError && follows > 0 && mayFollow())
        throw await timeoutWithHolders(runtime, waitMs, error)
      const inForce = capacityIn(error, template)
      if (inForce === undefined || follows === FOLLOWS || !mayFollow()) throw error
      capacity = inForce
    }
    if (waitMs === Infinity) continue
    const goneMs = clock.monotonicMs() - startedMs
    rest = { ...(options as O), waitMs: Math.max(0, waitMs - goneMs) }
  }
}

/** Returns the number of permits in force that a refusal names, if the weight fits into it. */
function capacityIn(error: unknown, { lock, weight }: ClaimTemplate): number | undefined {
  if (!(error instanceof LockUsageError) || error.lock !== lock) return undefined
  const { kind, capacity = 0 } = error.inUse ?? {}
  return kind === 'semaphore' && capacity >= weight ? capacity : undefined
}
