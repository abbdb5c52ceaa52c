/** The holders in the way of a lock's waiters, as far as they note what they wait for. */
import type { HolderInfo } from '../../store/contract.js'
import { FOREIGN_MEMBER, ownerView, type Sight } from '../access/sight.js'
import { isLate, type HeldBy, type KnownLock } from '../look/known-lock.js'
import type { KnownLocks } from '../look/known-locks.js'
import type { SilentWaits } from '../trouble/silent-waits.js'
import type { CycleMember } from '../view.js'
import { ageOf } from './holder-view.js'

const LONGEST_CHAIN = 50

/** Returns the holder in the way of all waiters: one that waits itself, or the one of longest. */
export function inTheWay({ info }: KnownLock): HolderInfo | undefined {
  const byHeld = [...info.holders].sort((one, other) => other.heldMs - one.heldMs)
  return byHeld.find(({ owner }) => (owner.waitsFor?.length ?? 0) > 0) ?? byHeld[0]
}

/** What one look has found. */
export interface Found {
  readonly known: KnownLocks
  readonly silent: SilentWaits
  readonly nowMs: number
}

export function chainFrom(lock: string, found: Found, sight: Sight): CycleMember[] {
  const chain: CycleMember[] = []
  const met = new Set<string>()
  for (let name: string | undefined = lock; name !== undefined && !met.has(name);) {
    met.add(name)
    const at = found.known.get(name)
    const holder = at && inTheWay(at)
    if (!holder || chain.length >= LONGEST_CHAIN) break
    const next = holder.owner.waitsFor?.[0]?.lock
    chain.push(sight.sees(name) ? memberOf({ known: at, holder }, next, found) : FOREIGN_MEMBER)
    name = next
  }
  return chain
}

/** @param waitsFor the lock of the next member */
function memberOf(
  { known, holder }: HeldBy,
  waitsFor: string | undefined,
  { silent, nowMs }: Found,
): CycleMember {
  const { claimId, owner, heldMs } = holder
  return {
    ...{ lock: known.lock, owner: ownerView(owner), claimId },
    heldMs: Math.round(heldMs) + ageOf(known, nowMs),
    ...signsOf(holder, waitsFor, silent),
  }
}

/** Returns what shows that the process of a holder may stand still. */
export function signsOf(
  holder: HolderInfo,
  waitsFor: string | undefined,
  silent: SilentWaits,
): Pick<CycleMember, 'isSilent' | 'isLate'> {
  const isSilent = waitsFor !== undefined && silent.has(waitsFor, holder.owner)
  return { ...(isSilent ? { isSilent } : {}), ...(isLate(holder) ? { isLate: true } : {}) }
}

/** Returns the visible locks that the process of a waiter holds meanwhile. */
export function heldMeanwhile(
  lock: string,
  known: KnownLocks,
  sight: Sight,
): ReadonlyMap<string, readonly string[]> {
  const held = new Map<string, string[]>()
  for (const { lock: name, info } of known.hot()) {
    if (!sight.sees(name)) continue
    for (const { owner } of info.holders) {
      if (!owner.waitsFor?.some((note) => note.lock === lock)) continue
      held.set(owner.clientId, [...(held.get(owner.clientId) ?? []), name])
    }
  }
  return held
}
