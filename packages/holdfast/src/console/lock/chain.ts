/** The holders in the way of a lock's waiters, as far as they note what they wait for. */
import type { HolderInfo } from '../../store/contract.js'
import { FOREIGN_MEMBER, ownerView, type Sight } from '../access/sight.js'
import type { KnownLock } from '../look/known-lock.js'
import type { KnownLocks } from '../look/known-locks.js'
import type { CycleMember } from '../view.js'
import { ageOf } from './holder-view.js'

const LONGEST_CHAIN = 50

/** Returns the holder in the way of all waiters: one that waits itself, or the one of longest. */
export function inTheWay({ info }: KnownLock): HolderInfo | undefined {
  const byHeld = [...info.holders].sort((one, other) => other.heldMs - one.heldMs)
  return byHeld.find(({ owner }) => (owner.waitsFor?.length ?? 0) > 0) ?? byHeld[0]
}

export function chainFrom(
  lock: string,
  known: KnownLocks,
  sight: Sight,
  nowMs: number,
): CycleMember[] {
  const chain: CycleMember[] = []
  const met = new Set<string>()
  for (let name: string | undefined = lock; name !== undefined && !met.has(name);) {
    met.add(name)
    const at = known.get(name)
    const holder = at && inTheWay(at)
    if (!holder || chain.length >= LONGEST_CHAIN) break
    chain.push(sight.sees(name) ? memberOf(at, holder, nowMs) : FOREIGN_MEMBER)
    name = holder.owner.waitsFor?.[0]?.lock
  }
  return chain
}

function memberOf(known: KnownLock, holder: HolderInfo, nowMs: number): CycleMember {
  const { claimId, owner, heldMs } = holder
  return {
    ...{ lock: known.lock, owner: ownerView(owner), claimId },
    heldMs: Math.round(heldMs) + ageOf(known, nowMs),
  }
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
