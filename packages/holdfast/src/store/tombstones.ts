/** Tombstones: a claim that was withdrawn, or whose lease has ended, is refused for its TTL. */
import type { WithdrawOutcome } from './contract.js'
import type { LockState, RuleStep, Steal } from './lock-state.js'

export function hasTombstone(state: LockState, id: string, step: RuleStep): boolean {
  const tombstone = state.tombstones.get(id)
  return tombstone !== undefined && tombstone.untilMs > step.nowMs
}

/** Returns the steal that ended a claim, as long as its tombstone lasts. */
export function stealOf(state: LockState, id: string, step: RuleStep): Steal | undefined {
  const tombstone = state.tombstones.get(id)
  return tombstone !== undefined && tombstone.untilMs > step.nowMs ? tombstone.steal : undefined
}

/**
 * Refuses a claim from now on.
 * @param steal the steal that ended the claim. Such a tombstone is kept until it ends, beyond the
 * limit: the claim has to learn the reason.
 */
export function addTombstone(
  state: LockState,
  claim: { id: string; ttlMs: number },
  outcome: WithdrawOutcome,
  step: RuleStep,
  steal?: Steal,
): void {
  const { tombstones } = state
  // The oldest is the first. The first that still counts ends the search below.
  tombstones.delete(claim.id)
  const tombstone = { untilMs: step.nowMs + claim.ttlMs, outcome }
  tombstones.set(claim.id, steal ? { ...tombstone, steal } : tombstone)
  let { size } = tombstones
  for (const [id, oldest] of tombstones) {
    if (size <= step.tombstoneLimit && oldest.untilMs > step.nowMs) return
    if (!oldest.steal || oldest.untilMs <= step.nowMs) tombstones.delete(id)
    size -= 1
  }
}
