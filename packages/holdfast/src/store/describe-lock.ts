/** What `inspect` shows of a lock, from its state. */
import type { LockInfo } from './contract.js'
import { expireAndPromote } from './expire-and-promote.js'
import { isIdle, type LockState, type RuleStep, type Waiter } from './lock-state.js'
import { readOwner } from './owner.js'

/**
 * Returns what `inspect` shows of a lock. Undefined without holders and waiters.
 * @param waitersUpTo see `Store.inspect`
 */
export function describe(
  lock: string,
  state: LockState,
  step: RuleStep,
  waitersUpTo?: readonly string[],
): LockInfo | undefined {
  expireAndPromote(state, step)
  if (isIdle(state)) return undefined
  return {
    lock,
    kind: state.kind,
    capacity: state.capacity,
    lastToken: state.lastToken === 0 ? undefined : BigInt(state.lastToken),
    holders: [...state.holders.values()].map((holder) => ({
      claimId: holder.id,
      owner: readOwner(holder.owner),
      weight: holder.weight,
      token: holder.tokens === 1 ? BigInt(holder.token) : undefined,
      heldMs: step.nowMs - holder.grantedMs,
      remainingMs: holder.expiresMs - step.nowMs,
      ttlMs: holder.ttlMs,
      stolen: holder.stolen,
      ...(holder.stealReason === undefined ? {} : { stealReason: holder.stealReason }),
    })),
    waiters: waitersOf(state, waitersUpTo).map((waiter) => ({
      claimId: waiter.id,
      owner: readOwner(waiter.owner),
      weight: waiter.weight,
      waitedMs: step.nowMs - waiter.sinceMs,
    })),
  }
}

function waitersOf({ waiters }: LockState, upTo: readonly string[] | undefined): Waiter[] {
  if (upTo === undefined) return [...waiters.values()]
  const missing = new Set(upTo.filter((id) => waiters.has(id)))
  const found: Waiter[] = []
  if (missing.size === 0) return found
  for (const waiter of waiters.values()) {
    found.push(waiter)
    missing.delete(waiter.id)
    if (missing.size === 0) break
  }
  return found
}
