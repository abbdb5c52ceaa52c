/** Holders and waiters as the page shows them. */
import { CAPACITY_ALL, type HolderInfo, type WaiterInfo } from '../../store/contract.js'
import { FOREIGN_OWNER, ownerView, shownText, type Sight } from '../access/sight.js'
import { isLate, type HeldBy, type KnownLock } from '../look/known-lock.js'
import type { SilentWait } from '../trouble/silent-waits.js'
import type { HolderView, Row, SilentWaiterView, WaiterView } from '../view.js'

const KINDS = { mutex: 'mutex', readWriteLock: 'read-write', semaphore: 'semaphore' } as const

export function kindOf({ isElection, info }: KnownLock): Row['kind'] {
  return isElection ? 'election' : KINDS[info.kind]
}

/** Returns how long ago a lock was seen. */
export function ageOf({ seenMs }: KnownLock, nowMs: number): number {
  return Math.max(0, Math.round(nowMs - seenMs))
}

export function holderView(known: KnownLock, holder: HolderInfo, nowMs: number): HolderView {
  const ageMs = ageOf(known, nowMs)
  const { claimId, owner, token, ttlMs, stealReason } = holder
  return {
    claimId,
    owner: ownerView(owner),
    ...modeOf(known, holder.weight),
    ...(token === undefined ? {} : { token: String(token) }),
    heldMs: Math.round(holder.heldMs) + ageMs,
    remainingMs: Math.max(0, Math.round(holder.remainingMs) - ageMs),
    ...(ttlMs === undefined ? {} : { ttlMs: Math.round(ttlMs) }),
    isStolen: holder.stolen,
    ...(stealReason === undefined ? {} : { stealReason: shownText(stealReason) }),
    isLate: isLate(holder),
  }
}

export function waiterView(
  known: KnownLock,
  waiter: WaiterInfo,
  nowMs: number,
  holds: readonly string[],
): WaiterView {
  return {
    claimId: waiter.claimId,
    owner: ownerView(waiter.owner),
    ...modeOf(known, waiter.weight),
    waitedMs: Math.round(waiter.waitedMs) + ageOf(known, nowMs),
    ...(holds.length > 0 ? { holds } : {}),
  }
}

export function silentWaiterView(
  leases: SilentWait,
  sight: Sight,
  nowMs: number,
): SilentWaiterView {
  const visible = leases.filter(({ known }) => sight.sees(known.lock))
  const [first] = visible
  // As in a cycle: what holds locks of others only is masked.
  if (!first) return { owner: FOREIGN_OWNER, holds: [] }
  const renewedMs = Math.min(...visible.map((lease) => renewedAgoMs(lease, nowMs)))
  return {
    owner: ownerView(first.holder.owner),
    holds: visible.map(({ known }) => known.lock),
    ...(Number.isFinite(renewedMs) ? { renewedMs } : {}),
  }
}

function renewedAgoMs({ known, holder: { ttlMs, remainingMs } }: HeldBy, nowMs: number): number {
  if (ttlMs === undefined) return Infinity
  return Math.max(0, Math.round(ttlMs - remainingMs)) + ageOf(known, nowMs)
}

function modeOf(
  { info }: KnownLock,
  weight: number,
): { readonly mode?: 'read' | 'write'; readonly weight?: number } {
  if (info.kind === 'semaphore') return { weight }
  if (info.kind === 'mutex') return {}
  return { mode: weight >= CAPACITY_ALL ? 'write' : 'read' }
}
