/** A call of a single flight: see single-flight.ts. */
import { LockUsageError } from '../errors.js'
import type { Lease } from '../lease/hold/lease.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import { noFunction } from '../options/no-function.js'
import { ACQUIRE_KEYS } from '../options/lock-options.js'
import { isPromise } from '../store/maybe-promise.js'
import type { Lockable } from './lock.js'
import type { SingleFlightOptions } from './single-flight.js'

const SINGLE_FLIGHT_KEYS: KnownKeys<SingleFlightOptions<unknown>> = { read: 1, ...ACQUIRE_KEYS }

export async function loadOnce<T>(
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
  // `load` starts through `lease.run`, which looks at the lease again: the second `read` takes
  // time.
  return lock.run(async (lease) => (await read()) ?? (await lease.run(load)), wait)
}
