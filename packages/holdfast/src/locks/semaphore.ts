/** A semaphore: a number of permits, of which each holder takes one or more. */
import { LockUsageError } from '../errors.js'
import type { Client } from '../lease/client.js'
import type { Lease } from '../lease/hold/lease.js'
import { describe } from '../options/describe.js'
import { checkKeys, checkNoOptions, type KnownKeys } from '../options/known-keys.js'
import {
  ACQUIRE_KEYS,
  LOCK_KEYS,
  RUN_KEYS,
  lockSettings,
  type AcquireOptions,
  type LockOptions,
  type RunOptions,
} from '../options/lock-options.js'
import { checkWhole } from '../options/whole-number.js'
import { CAPACITY_ALL } from '../store/contract.js'
import { FollowingLock } from './following-lock.js'
import { BasicLock, type Lockable } from './lock.js'

/**
 * The number of cached lock objects, one per weight. If weights are byte counts, nearly every
 * weight is unique, and caching them all would leak.
 */
const WEIGHTS_KEPT = 64

/** The options of `locks.semaphore`. */
export interface SemaphoreOptions extends LockOptions {
  /** How many permits there are. All clients of one semaphore must agree. */
  readonly permits: number
  /**
   * What to do while other clients use another number of permits. `refuse` (the default) rejects
   * with `LOCK_MISMATCH`. `follow` uses the number in force, for rolling deploys: the new number
   * holds from the first moment in which no claim holds or waits.
   */
  readonly onMismatch?: 'refuse' | 'follow' | undefined
}

/** How much of a semaphore one claim takes. */
export interface WeightOptions {
  /** How many permits to take. Default 1. */
  readonly weight?: number | undefined
}

const SEMAPHORE_KEYS: KnownKeys<SemaphoreOptions> = { permits: 1, onMismatch: 1, ...LOCK_KEYS }
const WEIGHT_KEYS: KnownKeys<WeightOptions> = { weight: 1 }
const WEIGHTED_KEYS = { ...WEIGHT_KEYS, ...ACQUIRE_KEYS }
const WEIGHTED_RUN_KEYS = { ...WEIGHT_KEYS, ...RUN_KEYS }

/** A lock with permits. Each claim takes one, or as many as its `weight`. */
export interface Semaphore extends Lockable {
  /** How many permits this client assumes. */
  readonly permits: number
  /** Runs `work` with `weight` permits. Throws as `run` of a mutex does. */
  run<T>(
    work: (lease: Lease) => T | PromiseLike<T>,
    options?: RunOptions & WeightOptions,
  ): Promise<T>
  /** Takes `weight` permits. Throws as `acquire` of a mutex does. */
  acquire(options?: AcquireOptions & WeightOptions): Promise<Lease>
  /** Takes `weight` permits, or resolves to undefined when too few are free. */
  tryAcquire(options?: AcquireOptions & WeightOptions): Promise<Lease | undefined>
  /** The same semaphore, taken with this weight: for `multi`. */
  withWeight(weight: number): Lockable
}

export function semaphore(client: Client, name: string, options: SemaphoreOptions): Semaphore {
  checkKeys('semaphore', options, SEMAPHORE_KEYS, { lock: name })
  const withWeight = locksByWeight(client, name, options)

  function parted(
    call: string,
    options: RunOptions & WeightOptions = {},
    known: KnownKeys<WeightOptions> = WEIGHTED_KEYS,
  ): { readonly lock: BasicLock; readonly wait: RunOptions } {
    checkKeys(call, options, known, { lock: name })
    const { weight, ...wait } = options
    return { lock: withWeight(weight), wait }
  }

  // Refuses at once what the store cannot do, not only when it is first asked for.
  withWeight()
  return {
    name,
    permits: options.permits,
    withWeight(weight, extra?: unknown) {
      checkNoOptions('withWeight', extra, { lock: name })
      return withWeight(weight)
    },
    async run(work, options) {
      const { lock, wait } = parted('run', options, WEIGHTED_RUN_KEYS)
      return lock.run(work, wait)
    },
    async acquire(options) {
      const { lock, wait } = parted('acquire', options)
      return lock.acquire(wait)
    },
    async tryAcquire(options) {
      const { lock, wait } = parted('tryAcquire', options)
      return lock.tryAcquire(wait)
    },
    adopt: async (handle, extra?: unknown) => withWeight().adopt(handle, extra),
    inspect: (extra?: unknown) => withWeight().inspect(extra),
  }
}

/** Returns a function that gives the lock of a weight: the same one again, for few weights. */
function locksByWeight(
  client: Client,
  name: string,
  { permits, onMismatch = 'refuse', ...rest }: SemaphoreOptions,
): (weight?: number) => BasicLock {
  checkPermits('permits', permits, CAPACITY_ALL - 1, name)
  if (onMismatch !== 'refuse' && onMismatch !== 'follow') {
    throw new LockUsageError(
      `onMismatch of semaphore "${name}" must be 'refuse' or 'follow', not ${describe(onMismatch)}.`,
      { lock: name },
    )
  }
  const settings = lockSettings(rest, client.settings, client.runtime.store)
  const { ttlMs } = settings
  const template = { lock: name, kind: 'semaphore', capacity: permits, ttlMs } as const
  const SemaphoreLock = onMismatch === 'follow' ? FollowingLock : BasicLock
  const byWeight = new Map<number, BasicLock>()
  return (weight = 1) => {
    checkPermits('weight', weight, permits, name)
    const known = byWeight.get(weight)
    if (known) return known
    const lock = new SemaphoreLock(client, { ...template, weight }, settings)
    if (byWeight.size < WEIGHTS_KEPT) byWeight.set(weight, lock)
    return lock
  }
}

function checkPermits(what: string, value: unknown, max: number, lock: string): void {
  checkWhole(`The ${what} of semaphore "${lock}"`, value, { max }, { lock })
}
