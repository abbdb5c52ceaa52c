/** `locks.steal`: an operator ends the leases on a lock. */
import { LockUsageError } from '../errors.js'
import type { Client } from '../lease/client.js'
import { describe } from '../options/describe.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import type { StealOptions, StealResult } from '../store/contract.js'
import { checkText } from '../store/names.js'

/** The options of `locks.steal`. */
export interface StealLockOptions {
  /**
   * Free the lock at once, under running code: then only the fencing token protects. Default false.
   */
  readonly now?: boolean | undefined
  /**
   * Who steals and why, in at most 256 bytes. The holder's `LockLostError` and `inspect` show it.
   * With `now` most stores have no holder left to show it to.
   */
  readonly reason?: string | undefined
}

const STEAL_KEYS: KnownKeys<StealLockOptions> = { reason: 1, now: 1 }
const MAX_REASON_BYTES = 256

export async function steal(
  { runtime, leases }: Client,
  lock: string,
  options: StealLockOptions = {},
): Promise<StealResult> {
  const { store } = runtime
  const how = checkSteal(options)
  runtime.assertOpen(lock)
  const stolen = await store.steal(lock, how)
  // Holders of this client, and the callers behind them, need not wait for the next renewal.
  const own = leases.values().filter((lease) => lease.name === lock)
  for (const lease of own) lease.verifySoon()
  return stolen
}

function checkSteal(options: StealLockOptions): StealOptions {
  checkKeys('steal', options, STEAL_KEYS)
  const { now = false, reason } = options
  // Any other true value, such as the text 'false', would free the lock under running code.
  if (typeof now !== 'boolean') {
    throw new LockUsageError(`The option now of steal must be true or false, not ${describe(now)}.`)
  }
  return reason === undefined
    ? { now }
    : { now, reason: checkText(reason, 'reason', MAX_REASON_BYTES) }
}
