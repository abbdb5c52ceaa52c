/** What a holder asks of its lease: another TTL, time that remains, a downgrade. */
import { LockUsageError, StoreUnavailableError } from '../../errors.js'
import { marginMs } from '../../clock/margin.js'
import { deadlineFrom } from '../grant/deadline.js'
import type { Grant } from '../grant/grant.js'
import type { Hold } from './hold.js'
import type { RenewOptions } from './lease.js'
import { checkKeys, checkNoOptions, type KnownKeys } from '../../options/known-keys.js'
import { checkDuration, checkTtl } from '../../options/lock-options.js'
import type { Runtime } from '../runtime/runtime.js'

const RENEW_KEYS: KnownKeys<RenewOptions> = { ttlMs: 1 }

/** A hold that knows how long it lasts, and how to last longer. */
interface Lasting extends Hold {
  readonly remainingMs: number
  renew(): Promise<void>
  /** @throws LockLostError or LockUsageError when it has ended. */
  assertNotOver(): void
}

/** How often `ensure` renews while each answer comes too late. */
const ENSURE_TRIES = 3

/**
 * Changes the TTL from the next renewal on.
 * @throws LockUsageError for a TTL that makes no sense, or that the store does not grant.
 */
export function changeTtl(lease: Lasting, options: RenewOptions): void {
  const { grant } = lease
  const { store, clock } = lease.services.runtime
  lease.assertNotOver()
  checkKeys('renew', options, RENEW_KEYS)
  const { ttlMs } = options
  if (ttlMs === undefined) return
  checkTtl(ttlMs, store)
  const keptMs = grant.keptUntilMs - clock.monotonicMs()
  if (ttlMs - marginMs(ttlMs) < keptMs) {
    const { lock } = grant.claim
    throw new LockUsageError(
      `ttlMs ${ttlMs} would end the lease on "${lock}" before atLeastMs is over, in ${Math.ceil(keptMs)} ms. Choose a longer one.`,
      { lock },
    )
  }
  lease.services.renewals.takeFromHelper(grant)
  replaceTtl(grant, ttlMs, clock.monotonicMs())
  lease.watchEnd()
}

/** A shorter one lowers the deadline at once: the renewal may take effect without an answer. */
function replaceTtl(grant: Grant, ttlMs: number, nowMs: number): void {
  const trustedMs = grant.ownTtl?.trustedMs ?? grant.claim.ttlMs
  const isCertain = grant.openRenewals === 0
  grant.ownTtl = { askedMs: ttlMs, trustedMs: isCertain ? ttlMs : Math.min(ttlMs, trustedMs) }
  grant.deadlineMs = Math.min(grant.deadlineMs, deadlineFrom(nowMs, ttlMs))
  grant.ttlMs = Math.min(grant.ttlMs, ttlMs)
  grant.storeOnly ??= 'another-ttl'
  // The tombstone of the claim lasts as long as its longest lease.
  if (ttlMs > grant.claim.ttlMs) grant.claim = { ...grant.claim, ttlMs }
}

/**
 * Renews a lease until it lasts for that long.
 * @throws LockUsageError when no renewal can make it last that long; StoreUnavailableError when
 * the renewals come too late, or a shorter one may still arrive.
 */
export async function ensureLasts(lease: Lasting, ms: number, extra: unknown): Promise<void> {
  const { grant } = lease
  const { runtime } = lease.services
  checkNoOptions('ensure', extra, { lock: lease.name })
  lease.assertNotOver()
  checkEnsure(runtime, grant, lease.endsMs, ms)
  for (let tries = 0; lease.remainingMs < ms; tries += 1) {
    if (tries === ENSURE_TRIES) throw notEnsured(runtime, grant, ms)
    await lease.renew()
  }
}

/** @throws LockUsageError when no renewal can make the lease last that long. */
function checkEnsure({ clock }: Runtime, grant: Grant, endsMs: number, ms: unknown): void {
  checkDuration('The time of ensure', ms, { min: 0 })
  const { askedTtlMs, claim } = grant
  const mostMs = Math.floor(askedTtlMs - marginMs(askedTtlMs))
  if (ms > mostMs) {
    throw new LockUsageError(
      `ensure(${ms}) of "${claim.lock}" asks for more than a renewal gives: ${mostMs} ms with ttlMs ${askedTtlMs}. ` +
        'Ask for less, or choose a longer TTL with renew({ ttlMs }).',
      { lock: claim.lock },
    )
  }
  if (clock.monotonicMs() + ms <= endsMs) return
  throw new LockUsageError(
    `ensure(${ms}) of "${claim.lock}" asks for more than maxHoldMs leaves. Raise maxHoldMs, or do less under one lease.`,
    { lock: claim.lock },
  )
}

/**
 * Returns the error for renewals that took longer than the TTL has time to spare, or that count for
 * less than they asked for.
 */
function notEnsured({ store }: Runtime, grant: Grant, ms: number): StoreUnavailableError {
  const { lock } = grant.claim
  const trustedMs = grant.ownTtl?.trustedMs ?? Infinity
  const reason =
    trustedMs - marginMs(trustedMs) < ms
      ? `its longer TTL is not certain: a renewal to ${trustedMs} ms is unanswered and may still arrive. Ask for less, or acquire the lock again.`
      : `${ENSURE_TRIES} renewals in a row came too late to leave ${ms} ms. Use a longer TTL, or check the store and the network.`
  return new StoreUnavailableError(`The lease on "${lock}" continues, but ${reason}`, {
    lock,
    store: store.name,
  })
}

/**
 * Downgrades the lease of a writer.
 * @throws LockUsageError for a lease that is no writer's.
 */
export async function downgrade(lease: Lasting, extra: unknown): Promise<void> {
  const { grant } = lease
  const { runtime, renewals } = lease.services
  const { lock, kind } = grant.claim
  checkNoOptions('downgrade', extra, { lock })
  lease.assertNotOver()
  if (kind !== 'readWriteLock') {
    throw new LockUsageError(`Only a writer's lease can be downgraded; "${lock}" is a ${kind}.`, {
      lock,
    })
  }
  // Before the answer, which may be lost: no other caller of this process may get as a writer what
  // the store holds for a reader.
  grant.weight = 1
  try {
    if (!(await runtime.store.downgrade(grant.claim))) renewals.lose(grant, 'expired')
  } catch (error) {
    throw runtime.asLockError(error, lock, 'the downgrade')
  }
  lease.assertNotOver()
  grant.claim = { ...grant.claim, weight: 1 }
}
