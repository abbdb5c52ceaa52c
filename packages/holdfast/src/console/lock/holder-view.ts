/** Holders and waiters as the page shows them. */
import { CAPACITY_ALL, type HolderInfo, type WaiterInfo } from '../../store/contract.js'
import { ownerView, shownText } from '../access/sight.js'
import { isLate, type KnownLock } from '../look/known-lock.js'
import type { HolderView, Row, WaiterView } from '../view.js'

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

function modeOf(
  { info }: KnownLock,
  weight: number,
): { readonly mode?: 'read' | 'write'; readonly weight?: number } {
  if (info.kind === 'semaphore') return { weight }
  if (info.kind === 'mutex') return {}
  return { mode: weight >= CAPACITY_ALL ? 'write' : 'read' }
}
