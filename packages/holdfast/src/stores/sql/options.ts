/** The options that both databases have in common. */
import { LockUsageError } from '../../errors.js'

/** The longest that a timer can be. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * @throws LockUsageError for anything but a number that a timer can be set to: text, for one, would
 * be added as text.
 */
export function checkRequestTimeout(requestTimeoutMs: unknown, store: 'mysql' | 'postgres'): void {
  const isNumber = typeof requestTimeoutMs === 'number'
  if (isNumber && requestTimeoutMs > 0 && requestTimeoutMs <= LONGEST_MS) return
  throw new LockUsageError(
    `The requestTimeoutMs of ${store}Store must be a positive number of milliseconds, at most ${LONGEST_MS}.`,
    { store },
  )
}

/**
 * @throws LockUsageError for options with a `mode`: session mode was removed, and its callers must
 * not get another lock unawares.
 */
export function refuseMode(options: object, store: 'mysql' | 'postgres'): void {
  if (!('mode' in options) || options.mode === undefined) return
  throw new LockUsageError(
    `The option mode of ${store}Store was removed, and session mode with it. Leave it out for locks in tables, which ` +
      'holdfast migrate makes; for a lock that lasts as long as a transaction, use lockRow of holdfast/transaction' +
      `${store === 'postgres' ? ', or advisoryLock' : ''}.`,
    { store },
  )
}
