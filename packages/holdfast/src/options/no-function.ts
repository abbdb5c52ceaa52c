/** Callers that pass something else where a function belongs. */
import { LockUsageError, type LockErrorDetails } from '../errors.js'
import { isPromise } from '../store/maybe-promise.js'

/**
 * Returns the error for a value in the place of a function. A promise means that the work began
 * before the call could lock anything.
 */
export function noFunction(
  call: string,
  value: unknown,
  details: LockErrorDetails = {},
): LockUsageError {
  const begun = isPromise(value) ? ', not a promise: its work began without the lock' : ''
  return new LockUsageError(`${call} needs a function to call${begun}.`, details)
}
