/** Runs after which the lock stays taken for a while: `run(fn, { atLeastMs })`. */
import { LockUsageError, UnsupportedLockError } from '../errors.js'
import { Acquirer } from '../lease/acquirer.js'
import type { Client } from '../lease/client.js'
import { frameOf } from '../lease/nesting/run-frames.js'
import type { HeldLease } from '../lease/hold/held-lease.js'
import { endsWithHolder, keepTaken } from '../lease/adopt/export-and-adopt.js'
import {
  callSettings,
  checkDuration,
  lockSettings,
  RUN_KEYS,
  type LockSettings,
  type RunOptions,
} from '../options/lock-options.js'
import type { AcquireTrace } from '../lease/runtime/acquire-trace.js'
import type { ClaimTemplate } from '../lease/runtime/runtime.js'
import { checkKeys } from '../options/known-keys.js'
import { noFunction } from '../options/no-function.js'
import type { Store } from '../store/contract.js'

/**
 * The TTL beyond `atLeastMs`: the client gives a lease up a margin before its TTL, and the grant is
 * older than its answer.
 */
const LONGER_BY = 1.02
const LONGER_BY_MS = 1_000

/** The lock of such a run. */
interface KeptLock {
  readonly template: ClaimTemplate
  readonly settings: LockSettings
  readonly trace: AcquireTrace | undefined
}

/** Runs `work` under a fixed lease of its own, which is kept for `atLeastMs` after the grant. */
export async function runAtLeast<T>(
  client: Client,
  { template, settings, trace }: KeptLock,
  work: (lease: HeldLease) => T | PromiseLike<T>,
  options: RunOptions,
): Promise<T> {
  const { lock } = template
  assertWork('run', lock, work)
  checkKeys('run', options, RUN_KEYS, { lock })
  const { atLeastMs, waitMs, signal } = options
  const fixed = fixedSettings(client, lock, settings, options)
  const { ttlMs } = fixed
  const wait = {
    ...(waitMs === undefined ? {} : { waitMs }),
    ...(signal === undefined ? {} : { signal }),
  }
  const keep = async (lease: HeldLease): Promise<T> => {
    await keepTaken(lease, atLeastMs as number)
    // The requests took time: `enter` checks again that the lease is held.
    return lease.enter(work)
  }
  return new Acquirer(client, { ...template, ttlMs }, fixed).run(keep, wait, trace)
}

/** @throws LockUsageError before the lock is taken, which would keep it for a while. */
export function assertWork(call: string, lock: string, work: unknown): void {
  if (typeof work === 'function') return
  throw noFunction(`${call} of "${lock}"`, work, { lock })
}

/**
 * Returns the settings of a fixed lease that lasts for longer than `atLeastMs`.
 * @throws LockUsageError or UnsupportedLockError when the lock cannot be kept that long.
 */
export function fixedSettings(
  client: Client,
  lock: string,
  settings: LockSettings,
  options: RunOptions,
): LockSettings {
  const { store } = client.runtime
  const { atLeastMs, renew } = options
  checkDuration('atLeastMs', atLeastMs, { min: 1 })
  assertCanStayTaken(store, lock)
  const own = callSettings(options, settings, store) ?? settings
  if (renew === true) {
    throw new LockUsageError(
      `run of "${lock}" with atLeastMs takes a fixed lease, so renew: true makes no sense. Leave it out, and choose a ttlMs in which the work ends.`,
      { lock },
    )
  }
  assertOutside(client, lock, `run of "${lock}" with atLeastMs`)
  const ttlMs = Math.max(own.ttlMs, Math.ceil(atLeastMs * LONGER_BY) + LONGER_BY_MS)
  return lockSettings({ ttlMs, renew: false }, own, store)
}

/** @throws LockUsageError where the async context holds the lock. */
export function assertOutside(client: Client, lock: string, call: string): void {
  if (!frameOf(client, lock)) return
  throw new LockUsageError(
    `${call} takes a lease of its own, and this context holds one. Call it outside.`,
    { lock },
  )
}

/** @throws UnsupportedLockError where the end of the process always frees the lock. */
export function assertCanStayTaken(store: Store, lock?: string): void {
  if (!endsWithHolder(store) || (store.traits.adopt && store.adopt)) return
  const what = lock === undefined ? 'each lock' : `"${lock}"`
  throw new UnsupportedLockError(
    `The ${store.name} store frees ${what} when the process ends, so atLeastMs cannot be kept.`,
    { store: store.name, ...(lock === undefined ? {} : { lock }) },
  )
}

/**
 * Makes all locks stay taken for `ms` from now on, or none of them. Renews the fixed leases first:
 * the first ones are as old as the wait for the last one.
 */
export async function keepAllTaken(leases: readonly HeldLease[], ms: number): Promise<void> {
  try {
    await allSettled(leases.map((lease) => lease.renew()))
    await allSettled(leases.map((lease) => keepTaken(lease, ms)))
  } catch (error) {
    for (const { grant } of leases) grant.keptUntilMs = 0
    throw error
  }
}

/** Waits for all, and then throws the first failure. */
async function allSettled(steps: readonly Promise<void>[]): Promise<void> {
  for (const step of await Promise.allSettled(steps))
    if (step.status === 'rejected') throw step.reason
}
