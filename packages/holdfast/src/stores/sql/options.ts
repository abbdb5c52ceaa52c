/** The options that both databases share. */
import { LockUsageError } from '../../errors.js'

/** The longest time of a timer in Node.js. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * Rejects a request timeout that a timer cannot be set to.
 * @throws LockUsageError for anything but a positive number; text would be concatenated, not added.
 */
export function checkRequestTimeout(requestTimeoutMs: unknown, store: 'mysql' | 'postgres'): void {
  const isNumber = typeof requestTimeoutMs === 'number'
  if (isNumber && requestTimeoutMs > 0 && requestTimeoutMs <= LONGEST_MS) return
  throw new LockUsageError(
    `Invalid requestTimeoutMs of ${store}Store: must be a positive number of milliseconds, at most ${LONGEST_MS}.`,
    { store },
  )
}
