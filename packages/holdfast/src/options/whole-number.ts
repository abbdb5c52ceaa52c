import { LockUsageError, type LockErrorDetails } from '../errors.js'
import { describe } from './describe.js'

/**
 * @param what the argument, for the error message
 * @throws LockUsageError when the value is no whole number from `min` to `max`.
 */
export function checkWhole(
  what: string,
  value: unknown,
  { min = 1, max = Infinity }: { readonly min?: number; readonly max?: number } = {},
  details?: LockErrorDetails,
): asserts value is number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return
  const end = max === Infinity ? 'on' : `to ${max}`
  throw new LockUsageError(
    `${what} must be a whole number from ${min} ${end}, not ${describe(value)}.`,
    details,
  )
}
