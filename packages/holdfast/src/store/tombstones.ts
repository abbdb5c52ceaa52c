/** Tombstones: a claim that was withdrawn, or whose lease has ended, is refused for its TTL. */
import type { WithdrawOutcome } from './contract.js'
import type { LockState, RuleStep } from './lock-state.js'

export function hasTombstone(state: LockState, id: string, step: RuleStep): boolean {
  const tombstone = state.tombstones.get(id)
  return tombstone !== undefined && tombstone.untilMs > step.nowMs
}

export function addTombstone(
  state: LockState,
  claim: { id: string; ttlMs: number },
  outcome: WithdrawOutcome,
  step: RuleStep,
): void {
  const { tombstones } = state
  // The oldest is the first. The first that still counts ends the search below.
  tombstones.delete(claim.id)
  tombstones.set(claim.id, { untilMs: step.nowMs + claim.ttlMs, outcome })
  for (const [id, oldest] of tombstones) {
    if (tombstones.size <= step.tombstoneLimit && oldest.untilMs > step.nowMs) return
    tombstones.delete(id)
  }
}
