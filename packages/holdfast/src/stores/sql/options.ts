/** The options that both databases have in common. */
import { LockUsageError } from '../../errors.js'

/** The longest that a timer can be. */
const LONGEST_MS = 2 ** 31 - 1

/** @throws LockUsageError for anything but a number that a timer can be set to: text, for one, would be added as text. */
export function checkRequestTimeout(requestTimeoutMs: unknown, store: 'mysql' | 'postgres'): void {
  const isNumber = typeof requestTimeoutMs === 'number'
  if (isNumber && requestTimeoutMs > 0 && requestTimeoutMs <= LONGEST_MS) return
  throw new LockUsageError(
    `The requestTimeoutMs of ${store}Store must be a positive number of milliseconds, at most ${LONGEST_MS}.`,
    { store },
  )
}
