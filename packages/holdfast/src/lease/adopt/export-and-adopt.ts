/**
 * Passes a lease from one process to another. `export` turns the holder's claim into a detached
 * one, and `adopt` turns that into a claim of the adopter. Both are the same verb of the store.
 */
import { forOneCaller } from '../../async/caller-frames.js'
import { pendingCall } from '../../async/keep-alive.js'
import { LockLostError, LockUsageError, UnsupportedLockError } from '../../errors.js'
import { repeatUntilAnswered } from '../../in-doubt/repeated-requests.js'
import { checkNoOptions } from '../../options/known-keys.js'
import { lockMismatch } from '../../store/errors.js'
import type { Adoption, AdoptResult, Claim, Store } from '../../store/contract.js'
import { Grant } from '../grant/grant.js'
import { decodeHandle, encodeHandle, type Handle } from './handle.js'
import type { ClaimTemplate, Runtime } from '../runtime/runtime.js'
import type { Services } from '../services.js'
import { isRetryable } from '../release/release-until-answered.js'

/** How long to pause before the verb is repeated, in milliseconds. */
const RETRY_MS = [20, 200] as const
/** How long a caller of `adopt` waits for the outcome of repeated tries. */
const ADOPT_FOR_MS = 10_000

/** A lease whose claim passes to another process, or to none. */
interface Detachable {
  readonly services: Services
  readonly grant: Grant
  readonly token: bigint
  readonly open: boolean
  /** The lock stays with the transaction: an adopter would work before its commit. */
  readonly coversTransaction: boolean
  renew(): Promise<void>
  endExported(): void
}

/** Detaches a lease. Resolves to its handle. Throws as `renew` and `detachClaim` do. */
export async function exportLease(lease: Detachable, extra: unknown): Promise<string> {
  const { services, grant, token } = lease
  const { runtime, renewals } = services
  checkNoOptions('export', extra, { lock: grant.claim.lock })
  assertAdopts(runtime, grant.claim.lock)
  if (lease.coversTransaction) throw stays(grant.claim.lock, runtime.store)
  // With a whole TTL, and with no renewal in flight, which would find the claim lost.
  await lease.renew()
  renewals.stopRenewing(grant)
  const { id, lock, kind, capacity, weight, ttlMs } = await detachClaim(services, grant, token)
  const store = runtime.store.name
  if (lease.open) lease.endExported()
  return encodeHandle({ store, lock, claimId: id, token, kind, capacity, weight, ttlMs })
}

function stays(lock: string, { name }: Store): LockUsageError {
  return new LockUsageError(
    `The lease on "${lock}" covers a transaction, so it is not exported. Acquire the lock again after the transaction, and export that lease.`,
    { lock, store: name },
  )
}

/**
 * Turns the claim of a grant into a detached one: the end of this process does not free the lock.
 * @throws LockLostError when the store no longer holds the lock for the grant.
 * @throws StoreUnavailableError when the outcome stays unknown until the deadline. Both claims are
 * then withdrawn: no lease is left without a holder.
 */
async function detachClaim(services: Services, grant: Grant, token: bigint): Promise<Claim> {
  const { runtime, withdrawals } = services
  const { claim, weight } = grant
  const template = { ...claim, ttlMs: grant.askedTtlMs }
  const to: Claim = { ...runtime.newClaim(template), weight, owner: claim.owner }
  const adoption = { from: claim, token, to, detached: true }
  let result: AdoptResult
  try {
    result = await untilAnswered(runtime, adoption, grant.deadlineMs)
  } catch (error) {
    withdrawals.inBackground(to)
    services.renewals.lose(grant, 'expired')
    throw forOneCaller(error)
  }
  if (result.outcome === 'lost') {
    services.renewals.lose(grant, result.reason, stealReasonOf(result))
    throw lost(runtime, claim.lock, result)
  }
  return to
}

/**
 * Makes the lock stay taken for `ms` from now on, also after a release. Its TTL has to be longer.
 * Where the end of the process frees the lock, a detached claim keeps it. Throws as `renew` and
 * `detachClaim` do.
 */
export async function keepTaken(lease: Detachable, ms: number): Promise<void> {
  const { services, grant, token } = lease
  const { runtime } = services
  // A pushed grant has a short TTL until its first renewal.
  if (grant.renewing === 'once') await lease.renew()
  const sentMs = runtime.clock.monotonicMs()
  if (endsWithHolder(runtime.store)) {
    // It renews the grant as well.
    grant.openRenewals += 1
    grant.claim = await pendingCall(detachClaim(services, grant, token))
    grant.extend(sentMs, runtime.clockOffsetMs(sentMs), true)
  }
  grant.keptUntilMs = runtime.clock.monotonicMs() + ms
}

/** Whether the store frees a lock when the process or the session of its holder ends. */
export function endsWithHolder({ traits }: Store): boolean {
  return traits.expiry === 'machine' || traits.expiry === 'session'
}

/**
 * Takes over the exported lease for a lock of this client.
 * @throws LockUsageError when the handle is damaged, or belongs to another store or lock, or to the
 * other side of a readers-writer lock.
 * @throws LockLostError when the lease has ended, or another process has adopted it.
 * @throws StoreUnavailableError when the outcome stays unknown.
 */
export async function adoptHandle(
  { runtime, withdrawals }: Services,
  template: ClaimTemplate,
  renews: boolean,
  text: unknown,
): Promise<Grant> {
  const handle = adoptableHandle(runtime, template, text)
  const sentMs = runtime.clock.monotonicMs()
  const offsetMs = runtime.clockOffsetMs(sentMs)
  const to: Claim = { ...runtime.newClaim(template, offsetMs), weight: handle.weight }
  const adoption = { from: claimOf(handle), token: handle.token, to, detached: false }
  // A closed client gets no lease, and what it has asked for is withdrawn before its store closes.
  const close = (): void => withdrawals.inBackground(to)
  const place = runtime.waits.addUnchecked({ startedMs: sentMs, source: undefined, close })
  let result: AdoptResult
  try {
    result = await untilAnswered(runtime, adoption, sentMs + ADOPT_FOR_MS)
  } catch (error) {
    if (runtime.closed) throw runtime.closedError(template.lock)
    withdrawals.inBackground(to)
    throw forOneCaller(error)
  } finally {
    runtime.waits.delete(place)
  }
  if (result.outcome === 'lost') throw lost(runtime, template.lock, result)
  // The TTL counts from the first request: a repeated one may report the grant of an earlier one.
  const grant = new Grant(to, result, { sentMs, offsetMs }, renews, runtime.clockTrust)
  const nowMs = runtime.clock.monotonicMs()
  if (grant.isAlive(nowMs, runtime.clockOffsetMs(nowMs))) return grant
  // It ended on the way here, as after many tries.
  withdrawals.inBackground(to)
  throw lost(runtime, template.lock, { outcome: 'lost', reason: 'expired' })
}

/** Returns the handle, if this lock can adopt the lease. Throws as `adoptHandle` does. */
function adoptableHandle(runtime: Runtime, template: ClaimTemplate, text: unknown): Handle {
  runtime.assertOpen(template.lock)
  assertAdopts(runtime, template.lock)
  const handle = handleFor(runtime, text)
  if (handle.lock !== template.lock) {
    throw new LockUsageError(
      `The handle is of the lock "${handle.lock}", not of "${template.lock}". Adopt it with that lock.`,
      { lock: template.lock, store: runtime.store.name },
    )
  }
  if (handle.kind !== template.kind || handle.capacity !== template.capacity)
    throw lockMismatch(template, handle, runtime.store.name)
  assertSameSide(template, handle, runtime)
  return handle
}

/** @throws LockUsageError where a writer would adopt the lease of a reader, or the reverse. */
function assertSameSide({ weight }: ClaimTemplate, handle: Handle, { store }: Runtime): void {
  const { kind, lock } = handle
  if (kind !== 'readWriteLock' || weight === handle.weight) return
  const [who, side] = handle.weight === 1 ? ['reader', 'read'] : ['writer', 'write']
  throw new LockUsageError(
    `The handle is of a ${who} of "${lock}". Adopt it with the .${side} side of that lock.`,
    { lock, store: store.name },
  )
}

/**
 * Renews an exported lease, which stays exported.
 * @throws LockLostError when it has ended or was adopted.
 */
export async function renewHandle({ runtime }: Services, text: unknown): Promise<void> {
  const { lock, claimId: id, ttlMs } = handleFor(runtime, text)
  runtime.assertOpen(lock)
  assertAdopts(runtime, lock)
  const renewal = { lock, id, ttlMs, owner: runtime.owner }
  const [result] = await runtime.store.renew([renewal])
  if (result?.outcome === 'unknown') throw result.cause
  if (result?.outcome !== 'renewed')
    throw lost(runtime, lock, result ?? { outcome: 'lost', reason: 'expired' })
}

/** Releases an exported lease. Resolves to `lost` when it had ended or was adopted. */
export async function releaseHandle(
  { runtime, withdrawals }: Services,
  text: unknown,
): Promise<'released' | 'lost'> {
  const handle = handleFor(runtime, text)
  runtime.assertOpen(handle.lock)
  assertAdopts(runtime, handle.lock)
  const claim = { ...claimOf(handle), heartbeatMs: handle.ttlMs, owner: runtime.owner }
  const nowMs = runtime.clock.monotonicMs()
  return withdrawals.release(claim, nowMs + handle.ttlMs, nowMs)
}

function claimOf({ claimId, ...handle }: Handle): Omit<Claim, 'heartbeatMs' | 'owner'> {
  const { lock, kind, capacity, weight, ttlMs } = handle
  return { lock, id: claimId, kind, capacity, weight, ttlMs }
}

/** @throws LockUsageError when the handle is damaged or was made for another kind of store. */
function handleFor({ store }: Runtime, text: unknown): Handle {
  const handle = decodeHandle(text)
  if (handle.store === store.name) return handle
  throw new LockUsageError(
    `The handle is of a lease on "${handle.lock}" in another kind of store: ${handle.store}, and this one is ${store.name}. Use the store that it was exported from.`,
    { lock: handle.lock, store: store.name },
  )
}

/** @throws UnsupportedLockError where leases cannot pass to another process. */
function assertAdopts({ store }: Runtime, lock: string): void {
  if (store.traits.adopt && store.adopt) return
  throw new UnsupportedLockError(
    `The ${store.name} store cannot pass the lease on "${lock}" to another process.`,
    { lock, store: store.name },
  )
}

function untilAnswered(
  runtime: Runtime,
  adoption: Adoption,
  giveUpMs: number,
): Promise<AdoptResult> {
  const { store, clock } = runtime
  const { lock } = adoption.to
  const ask = async (): Promise<AdoptResult> => {
    try {
      assertAdopts(runtime, lock)
      return (await store.adopt?.(adoption)) as AdoptResult
    } catch (caught) {
      throw runtime.asLockError(caught, lock, 'the adoption')
    }
  }
  return repeatUntilAnswered(ask, {
    clock,
    pauseMs: () => runtime.jitter(...RETRY_MS),
    givesUp: (error) => !isRetryable(error) || runtime.closed || clock.monotonicMs() >= giveUpMs,
  })
}

type Loss = Extract<AdoptResult, { outcome: 'lost' }>

function lost({ store }: Runtime, lock: string, loss: Loss): LockLostError {
  return new LockLostError(loss.reason, {
    lock,
    store: store.name,
    stealReason: stealReasonOf(loss),
  })
}

function stealReasonOf(loss: Loss): string | undefined {
  return loss.reason === 'stolen' ? loss.stealReason : undefined
}
