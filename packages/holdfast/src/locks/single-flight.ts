/**
 * Single flight: of many callers that want a value, one makes it and the others read it.
 *
 * A caller that has waited for the lock reads again, since the holder before it has probably
 * written the value.
 */
import type { Lease } from '../lease/hold/lease.js'
import type { AcquireOptions } from '../options/lock-options.js'
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

export function singleFlight(lock: Lockable): SingleFlight {
  return {
    name: lock.name,
    run: async (load, options) => (await import('./load-once.js')).loadOnce(lock, load, options),
  }
}
