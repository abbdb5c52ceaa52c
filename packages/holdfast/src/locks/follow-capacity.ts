/** Repeats a call with the number of permits in force: see following-lock.ts. */
import { LockTimeoutError, LockUsageError } from '../errors.js'
import type { ClaimTemplate, Runtime } from '../lease/runtime/runtime.js'
import { timeoutWithHolders } from '../lease/wait/timeout-with-holders.js'
import type { AcquireOptions } from '../options/lock-options.js'
import type { BasicLock } from './lock.js'

/** How often one call follows: another client may change the capacity between two attempts. */
const FOLLOWS = 8

/** A call of a lock. */
export type Use<T, O> = (lock: BasicLock, options: O | undefined) => Promise<T>

interface Followed {
  readonly runtime: Runtime
  readonly template: ClaimTemplate
  readonly makeLock: (capacity: number) => BasicLock
}

/** The call that is repeated. */
interface Terms<O> {
  readonly options: O | undefined
  readonly waitMs: number
  readonly mayFollow: () => boolean
}

/** Asks with the lock's own capacity first, and then with the one that the refusal names. */
export async function follow<T, O extends AcquireOptions>(
  { runtime, template, makeLock }: Followed,
  use: Use<T, O>,
  { options, waitMs, mayFollow }: Terms<O>,
): Promise<T> {
  const { clock } = runtime
  const startedMs = clock.monotonicMs()
  let { capacity } = template
  let rest = options
  for (let follows = 0; ; follows += 1) {
    try {
      return await use(makeLock(capacity), rest)
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
