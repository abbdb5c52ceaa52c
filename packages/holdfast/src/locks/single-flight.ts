/**
 * Single flight: of many callers that want a value, one makes it and the others read it.
 *
 * A caller that has waited for the lock reads again, since the holder before it has probably
 * written the value.
 */
import { LockUsageError } from '../errors.js'
import { asHeldLease } from '../lease/hold/held-lease.js'
import type { Lease } from '../lease/hold/lease.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import { noFunction } from '../options/no-function.js'
import { ACQUIRE_KEYS, type AcquireOptions } from '../options/lock-options.js'
import { isPromise } from '../store/maybe-promise.js'
import type { Lockable } from './lock.js'

/** The options of `singleFlight(…).run`. */
export interface SingleFlightOptions<T> extends AcquireOptions {
  /** Reads the value where it is kept; undefined or null when it is missing. */
  readonly read: () => T | undefined | null | PromiseLike<T | undefined | null>
}

/** Makes a missing value once for many callers. */
export interface SingleFlight {
  /** The full name, namespace included. */
  readonly name: string
  /**
   * Reads the value; if it is missing, takes the lock, reads again, and calls `load` only if it is
   * missing still. `load` has to store what it made where `read` finds it. Throws as `mutex.run`
   * does, and what they throw.
   */
  run<T>(load: (lease: Lease) => T | PromiseLike<T>, options: SingleFlightOptions<T>): Promise<T>
}

const SINGLE_FLIGHT_KEYS: KnownKeys<SingleFlightOptions<unknown>> = { read: 1, ...ACQUIRE_KEYS }

export function singleFlight(lock: Lockable): SingleFlight {
  return {
    name: lock.name,
    run: (load, options) => loadOnce(lock, load, options),
  }
}

async function loadOnce<T>(
  lock: Lockable,
  load: (lease: Lease) => T | PromiseLike<T>,
  options: SingleFlightOptions<T>,
): Promise<T> {
  const details = { lock: lock.name }
  if (typeof options?.read !== 'function' || typeof load !== 'function') {
    if (isPromise(load)) throw noFunction(`run of singleFlight "${lock.name}"`, load, details)
    const text = `singleFlight "${lock.name}" needs run(load, { read }) with two functions.`
    throw new LockUsageError(text, details)
  }
  checkKeys('run of singleFlight', options, SINGLE_FLIGHT_KEYS, details)
  const { read, ...wait } = options
  const early = await read()
  if (early !== undefined && early !== null) return early
  // `load` starts through `enter`, which looks at the lease again: the second `read` takes time.
  const make = async (lease: Lease): Promise<T> =>
    (await read()) ?? (await asHeldLease(lease).enter(load))
  return lock.run(make, wait)
}
