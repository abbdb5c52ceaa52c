/** The options that all entries for telemetry take. */
import { LockUsageError } from '../errors.js'
import { describe } from '../options/describe.js'

/**
 * @param call the public call whose options these are
 * @throws LockUsageError when they make no sense.
 */
export function checkMeasurementOptions(
  call: string,
  { lockName, buckets }: { readonly lockName: unknown; readonly buckets: unknown },
): void {
  if (lockName !== undefined && typeof lockName !== 'function') {
    throw new LockUsageError(
      `lockName of ${call} must be a function that returns a name or undefined, not ${describe(lockName)}.`,
    )
  }
  if (!isAscending(buckets)) {
    throw new LockUsageError(
      `buckets of ${call} must be numbers of seconds in ascending order, such as [0.01, 0.1, 1].`,
    )
  }
}

function isAscending(buckets: unknown): boolean {
  if (!Array.isArray(buckets) || buckets.length === 0) return false
  const bounds = buckets as readonly unknown[]
  return bounds.every((bound, index) => {
    const before = index === 0 ? 0 : bounds[index - 1]
    return typeof bound === 'number' && Number.isFinite(bound) && bound > (before as number)
  })
}
