/** `locks.steal`: an operator ends the leases on a lock, or one claim. */
import { LockUsageError } from '../errors.js'
import type { Client } from '../lease/client.js'
import { describe } from '../options/describe.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import type { StealOptions, StealResult } from '../store/contract.js'
import { checkText } from '../store/names.js'

/** The options of `locks.steal`. */
export interface StealLockOptions {
  /**
   * Ends this claim alone, of a holder or a waiter: a `claimId` of an inspection. Nothing is stolen
   * when it neither holds the lock nor waits for it any more. A waiter leaves the queue at once;
   * its caller rejects with a `LockLostError`, as do callers of its process that wait behind it.
   */
  readonly claim?: string | undefined
  /**
   * Free the lock at once, under running code: then only the fencing token protects. Default false.
   */
  readonly now?: boolean | undefined
  /**
   * Who steals and why, in at most 256 bytes. The holder's `LockLostError` and `inspect` show it.
   * On ZooKeeper not to a waiter, nor with `now`.
   */
  readonly reason?: string | undefined
}

const STEAL_KEYS: KnownKeys<StealLockOptions> = { claim: 1, reason: 1, now: 1 }
const MAX_REASON_BYTES = 256
const CLAIM_ID = /^[\w.-]{1,64}$/

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
  const { claim, now = false, reason } = options
  // Any other true value, such as the text 'false', would free the lock under running code.
  if (typeof now !== 'boolean') {
    throw new LockUsageError(`The option now of steal must be true or false, not ${describe(now)}.`)
  }
  if (claim !== undefined && (typeof claim !== 'string' || !CLAIM_ID.test(claim))) {
    throw new LockUsageError(
      `The option claim of steal must be the claimId of an inspection, not ${describe(claim)}.`,
    )
  }
  return {
    now,
    ...(claim === undefined ? {} : { claim }),
    ...(reason === undefined ? {} : { reason: checkText(reason, 'reason', MAX_REASON_BYTES) }),
  }
}
