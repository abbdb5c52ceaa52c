/** Where a dead holder's claim ends, and a waiter becomes a holder. All verbs begin here. */
import { invariant } from '../invariant.js'
import { HEARTBEATS_TO_LIVE, type Claim } from './contract.js'
import type { Holder, LockState, RuleStep } from './lock-state.js'
import { nextToken } from './next-token.js'
import { addTombstone } from './tombstones.js'

/** Ends expired leases and promotes waiters. Every verb begins with it. */
export function expireAndPromote(state: LockState, step: RuleStep): void {
  if (step.nowMs >= state.nextExpiryMs) expire(state, step)
  if (state.waiters.size > 0) promote(state, step)
}

/** Makes holders of the waiters that fit, in order, up to the first live one that does not. */
export function promote(state: LockState, step: RuleStep): void {
  for (const waiter of state.waiters.values()) {
    const livesMs = waiter.heartbeatMs * HEARTBEATS_TO_LIVE
    if (waiter.seenMs + livesMs <= step.nowMs) {
      state.waiters.delete(waiter.id)
      continue
    }
    if (state.heldWeight + waiter.weight > state.capacity) return
    state.waiters.delete(waiter.id)
    // Short until the first renewal: a waiter that has just died must not cost a whole TTL.
    step.promoted.push(hold(state, waiter, waiter.tokens, Math.min(waiter.ttlMs, livesMs), step))
  }
}

function expire(state: LockState, step: RuleStep): void {
  let next = Infinity
  for (const holder of state.holders.values()) {
    if (holder.expiresMs > step.nowMs) next = Math.min(next, holder.expiresMs)
    else {
      drop(state, holder)
      addTombstone(state, holder, 'absent', step)
    }
  }
  state.nextExpiryMs = next
}

/** Makes a claim a holder. */
export function hold(
  state: LockState,
  claim: Pick<Claim, 'id' | 'owner' | 'weight'>,
  tokens: number,
  ttlMs: number,
  step: RuleStep,
): Holder {
  const isHolder = state.holders.has(claim.id)
  invariant(!isHolder && !state.waiters.has(claim.id), 'a claim is granted once', state.lock)
  const token = nextToken(state, step)
  const holder: Holder = {
    id: claim.id,
    owner: claim.owner,
    weight: claim.weight,
    token,
    tokens,
    grantedMs: step.nowMs,
    ttlMs,
    expiresMs: step.nowMs + ttlMs,
    stolen: false,
  }
  state.lastToken = token + tokens - 1
  addWeight(state, claim.weight)
  state.holders.set(claim.id, holder)
  if (holder.expiresMs < state.nextExpiryMs) state.nextExpiryMs = holder.expiresMs
  return holder
}

/** Ends a holder. */
export function drop(state: LockState, holder: Holder): void {
  state.holders.delete(holder.id)
  addWeight(state, -holder.weight)
  if (state.holders.size > 0) return
  invariant(state.heldWeight === 0, 'a lock without holders has no held weight', state.lock)
  state.nextExpiryMs = Infinity
}

export function addWeight(state: LockState, weight: number): void {
  state.heldWeight += weight
  invariant(state.heldWeight >= 0, 'the held weight is not negative', state.lock)
  invariant(state.heldWeight <= state.capacity, 'the held weight fits the capacity', state.lock)
}
