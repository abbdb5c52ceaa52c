/**
 * The grant rule, as plain functions over the state of one lock.
 *
 * The store grants a claim when no claim waits before it, and its weight fits the capacity beside
 * the weights of the holders. No claim overtakes a waiter: writers and heavy claims never starve.
 *
 * The memory and the embedded store run these functions inside their own atomic step. The stores
 * with a rule in Lua or SQL are tested against them. The functions read no clock: the
 * `RuleStep` that the caller passes has the time of the store.
 */
import { lockMismatch } from './errors.js'
import { invariant } from '../invariant.js'
import type {
  AdoptResult,
  Adoption,
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  Granted,
  LostRenewal,
  Renewal,
  RenewResult,
  StealOptions,
  StealResult,
  Withdrawn,
  WithdrawOutcome,
} from './contract.js'
import { addWeight, drop, expireAndPromote, hold, promote } from './expire-and-promote.js'
import { isIdle, type Holder, type LockState, type RuleStep, type Steal } from './lock-state.js'
import { nextToken } from './next-token.js'
import { stolenLoss, stolenWithdrawal } from './stolen.js'
import { addTombstone, hasTombstone, stealOf } from './tombstones.js'

export { describe } from './describe-lock.js'
export { expireAndPromote } from './expire-and-promote.js'
export { isIdle, newLockState } from './lock-state.js'
export type { Holder, LockState, RuleStep, Waiter } from './lock-state.js'

/** Grants the claim, queues it, or keeps it in the queue. */
export function attempt(
  state: LockState,
  claim: Claim,
  options: AttemptOptions,
  step: RuleStep,
): AttemptResult {
  expireAndPromote(state, step)
  // An attempt may arrive after its own withdrawal, or after its lease has ended.
  if (hasTombstone(state, claim.id, step)) return withdrawn(stealOf(state, claim.id, step))
  const holder = state.holders.get(claim.id)
  if (holder) return grantedTo(holder, true, step)
  const waiter = state.waiters.get(claim.id)
  if (waiter) {
    waiter.seenMs = step.nowMs
    waiter.owner = claim.owner
    waiter.tokens = options.tokens
    return { outcome: 'waiting', holderRemainingMs: untilNextExpiry(state, step) }
  }
  takeKind(state, claim)
  if (isIdle(state)) state.lastQueueNumber = 0
  if (state.waiters.size === 0 && state.heldWeight + claim.weight <= state.capacity) {
    return grantedTo(hold(state, claim, options.tokens, claim.ttlMs, step), false, step)
  }
  if (!options.enqueue) return { outcome: 'busy', holderRemainingMs: untilNextExpiry(state, step) }
  invariant(!state.holders.has(claim.id), 'a holder does not wait', state.lock)
  state.waiters.set(claim.id, {
    id: claim.id,
    owner: claim.owner,
    weight: claim.weight,
    ttlMs: claim.ttlMs,
    heartbeatMs: claim.heartbeatMs,
    tokens: options.tokens,
    sinceMs: step.nowMs,
    seenMs: step.nowMs,
  })
  state.lastQueueNumber += 1
  return {
    outcome: 'waiting',
    queueNumber: state.lastQueueNumber,
    holderRemainingMs: untilNextExpiry(state, step),
  }
}

/** Extends the lease, and shows another owner from now on. */
export function renew(state: LockState, renewal: Renewal, step: RuleStep): RenewResult {
  expireAndPromote(state, step)
  const holder = state.holders.get(renewal.id)
  if (!holder) return lossOf(state, renewal.id, step)
  if (holder.stolen) return stolenLoss(holder.stealReason)
  holder.owner = renewal.owner
  if (renewal.keepsEnd === true) return { outcome: 'renewed' }
  holder.ttlMs = renewal.ttlMs
  holder.expiresMs = step.nowMs + renewal.ttlMs
  // The TTL may be shorter than before.
  state.nextExpiryMs = Math.min(state.nextExpiryMs, holder.expiresMs)
  return { outcome: 'renewed' }
}

/** Ends the claim, and refuses it from now on. */
export function withdraw(state: LockState, claim: ClaimRef, step: RuleStep): WithdrawOutcome {
  expireAndPromote(state, step)
  const holder = state.holders.get(claim.id)
  if (holder) {
    drop(state, holder)
    addTombstone(state, claim, 'released', step)
    promote(state, step)
    return 'released'
  }
  if (state.waiters.delete(claim.id)) {
    addTombstone(state, claim, 'left', step)
    // A lighter claim behind it may fit.
    promote(state, step)
    return 'left'
  }
  // A new tombstone even where there is one: that one may have expired.
  const outcome = state.tombstones.get(claim.id)?.outcome ?? 'absent'
  addTombstone(state, claim, outcome, step)
  return outcome
}

/** Turns a writer into a reader. Returns false when the claim does not hold the lock. */
export function downgrade(state: LockState, claim: ClaimRef, step: RuleStep): boolean {
  expireAndPromote(state, step)
  const holder = state.holders.get(claim.id)
  if (!holder || state.kind !== 'readWriteLock') return false
  addWeight(state, 1 - holder.weight)
  holder.weight = 1
  promote(state, step)
  return true
}

/**
 * Lets another claim hold the lock in the place of one that holds it, with a larger token unless
 * the lease is detached.
 */
export function adopt(state: LockState, adoption: Adoption, step: RuleStep): AdoptResult {
  expireAndPromote(state, step)
  const { from, to, detached } = adoption
  const token = Number(adoption.token)
  const adopted = state.holders.get(to.id)
  if (adopted) return grantedTo(adopted, true, step)
  const holder = state.holders.get(from.id)
  const hasToken = holder && holder.token <= token && token < holder.token + holder.tokens
  // The new claim may have been withdrawn before this request arrived.
  if (!hasToken || hasTombstone(state, to.id, step)) return lossOf(state, from.id, step)
  if (holder.stolen) return stolenLoss(holder.stealReason)
  invariant(!state.waiters.has(to.id), 'a waiter adopts no lease', state.lock)
  const heir: Holder = {
    ...holder,
    id: to.id,
    owner: to.owner,
    token: detached ? token : nextToken(state, step),
    tokens: 1,
    ttlMs: to.ttlMs,
    expiresMs: step.nowMs + to.ttlMs,
  }
  state.lastToken = Math.max(state.lastToken, heir.token)
  state.holders.delete(from.id)
  state.holders.set(to.id, heir)
  state.nextExpiryMs = Math.min(state.nextExpiryMs, heir.expiresMs)
  addTombstone(state, from, 'absent', step)
  return grantedTo(heir, false, step)
}

/**
 * Ends the grants of all holders, or one claim: at once, or when their leases end.
 * @param lastToken holders with a larger token keep the lock, unless `claim` names one
 */
export function steal(
  state: LockState,
  options: StealOptions,
  step: RuleStep,
  lastToken: number = Infinity,
): StealResult & { readonly freeInMs: number } {
  expireAndPromote(state, step)
  const { claim } = options
  if (claim !== undefined && state.waiters.has(claim))
    return stealWaiter(state, claim, options, step)
  const holders = [...state.holders.values()].filter(({ id, token }) =>
    claim === undefined ? token <= lastToken : id === claim,
  )
  let freeInMs = 0
  for (const holder of holders) {
    holder.stolen = true
    if (options.reason !== undefined) holder.stealReason = options.reason
    freeInMs = Math.max(freeInMs, holder.expiresMs - step.nowMs)
    if (!options.now) continue
    drop(state, holder)
    addTombstone(state, holder, 'absent', step, { reason: holder.stealReason })
  }
  if (options.now) promote(state, step)
  return {
    holders: holders.length,
    ...(claim === undefined ? {} : { waiters: 0 }),
    freeInMs: options.now ? 0 : freeInMs,
  }
}

/** Takes a waiter out of the queue. */
function stealWaiter(
  state: LockState,
  id: string,
  { reason }: StealOptions,
  step: RuleStep,
): StealResult & { readonly freeInMs: number } {
  const ttlMs = state.waiters.get(id)?.ttlMs ?? 0
  state.waiters.delete(id)
  addTombstone(state, { id, ttlMs }, 'absent', step, { reason })
  // A lighter claim behind it may fit.
  promote(state, step)
  return { holders: 0, waiters: 1, freeInMs: 0 }
}

function grantedTo(holder: Holder, alreadyGranted: boolean, step: RuleStep): Granted {
  return {
    outcome: 'granted',
    token: BigInt(holder.token),
    tokens: holder.tokens,
    ttlMs: holder.ttlMs,
    alreadyGranted,
    remainingMs: holder.expiresMs - step.nowMs,
  }
}

function withdrawn(steal: Steal | undefined): Withdrawn {
  return steal ? stolenWithdrawal(steal.reason) : { outcome: 'withdrawn' }
}

/** Returns the loss of a claim that does not hold the lock. */
function lossOf(state: LockState, id: string, step: RuleStep): LostRenewal {
  const ended = stealOf(state, id, step)
  return ended ? stolenLoss(ended.reason) : { outcome: 'lost', reason: 'expired' }
}

function untilNextExpiry(state: LockState, step: RuleStep): number | undefined {
  return state.nextExpiryMs === Infinity ? undefined : state.nextExpiryMs - step.nowMs
}

/** Gives an idle lock the kind and capacity of the claim. They stay until it is idle again. */
function takeKind(state: LockState, claim: Claim): void {
  if (state.kind === claim.kind && state.capacity === claim.capacity) return
  if (!isIdle(state)) {
    if (areAlike(state, claim)) {
      // The lock is shown as a readers-writer lock as soon as one claim uses it so.
      if (claim.kind === 'readWriteLock') state.kind = claim.kind
      return
    }
    throw lockMismatch(claim, state)
  }
  state.kind = claim.kind
  state.capacity = claim.capacity
}

/** Returns whether two claims may share a lock: a mutex is a readers-writer lock's writer. */
function areAlike(
  one: Pick<Claim, 'kind' | 'capacity'>,
  other: Pick<Claim, 'kind' | 'capacity'>,
): boolean {
  return (
    one.capacity === other.capacity && (one.kind === 'semaphore') === (other.kind === 'semaphore')
  )
}
