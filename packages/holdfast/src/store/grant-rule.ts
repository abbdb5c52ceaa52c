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
import { lockMismatch } from '../errors.js'
import { invariant } from '../invariant.js'
import {
  CAPACITY_ALL,
  HEARTBEATS_TO_LIVE,
  type AdoptResult,
  type Adoption,
  type AttemptOptions,
  type AttemptResult,
  type Claim,
  type ClaimRef,
  type Granted,
  type LockInfo,
  type LockKind,
  type LostRenewal,
  type Owner,
  type Renewal,
  type RenewResult,
  type StealOptions,
  type StealResult,
  type WithdrawOutcome,
} from './contract.js'
import { readOwner } from './owner.js'

export interface Holder {
  readonly id: string
  owner: Owner
  weight: number
  readonly token: number
  readonly tokens: number
  readonly grantedMs: number
  /** The TTL of the latest grant or renewal. */
  ttlMs: number
  expiresMs: number
  stolen: boolean
  stealReason?: string
}

export interface Waiter {
  readonly id: string
  owner: Owner
  readonly weight: number
  readonly ttlMs: number
  readonly heartbeatMs: number
  tokens: number
  readonly sinceMs: number
  seenMs: number
}

export interface Tombstone {
  readonly untilMs: number
  readonly outcome: WithdrawOutcome
}

/** All that a store keeps about one lock. The order of insertion into `waiters` is the queue. */
export interface LockState {
  /** The name of the lock, for errors. */
  readonly lock: string
  kind: LockKind
  capacity: number
  lastToken: number
  heldWeight: number
  /** No lease ends before this time. It may lie too early after a renewal, which costs a check. */
  nextExpiryMs: number
  /** The number of the last claim that joined the queue since the lock was idle. */
  lastQueueNumber: number
  readonly holders: Map<string, Holder>
  readonly waiters: Map<string, Waiter>
  readonly tombstones: Map<string, Tombstone>
}

/** What one atomic step works with, and what it did besides its own result. */
export interface RuleStep {
  /** The time on the clock of the store. */
  nowMs: number
  /** The smallest next token: the store's clock in microseconds, or a counter of all locks. */
  tokenFloor: number
  /** The largest number of tombstones that a lock keeps. */
  tombstoneLimit: number
  /** The waiters that this step made holders, in order. The store wakes them. */
  readonly promoted: Holder[]
}

export function newLockState(lock: string): LockState {
  return {
    lock,
    kind: 'mutex',
    capacity: CAPACITY_ALL,
    lastToken: 0,
    heldWeight: 0,
    nextExpiryMs: Infinity,
    lastQueueNumber: 0,
    holders: new Map(),
    waiters: new Map(),
    tombstones: new Map(),
  }
}

/** Returns whether only tombstones are left. */
export function isIdle(state: LockState): boolean {
  return state.holders.size === 0 && state.waiters.size === 0
}

/** Grants the claim, queues it, or keeps it in the queue. */
export function attempt(
  state: LockState,
  claim: Claim,
  options: AttemptOptions,
  step: RuleStep,
): AttemptResult {
  settle(state, step)
  // An attempt may arrive after its own withdrawal, or after its lease has ended.
  if (hasTombstone(state, claim.id, step)) return { outcome: 'withdrawn' }
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
  settle(state, step)
  const holder = state.holders.get(renewal.id)
  if (!holder) return { outcome: 'lost', reason: 'expired' }
  if (holder.stolen) return stolenLoss(holder)
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
  settle(state, step)
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
  settle(state, step)
  const holder = state.holders.get(claim.id)
  if (!holder || state.kind !== 'readWriteLock') return false
  addWeight(state, 1 - holder.weight)
  holder.weight = 1
  promote(state, step)
  return true
}

/** Lets another claim hold the lock in the place of one that holds it. */
export function adopt(state: LockState, adoption: Adoption, step: RuleStep): AdoptResult {
  settle(state, step)
  const { from, to } = adoption
  const token = Number(adoption.token)
  const adopted = state.holders.get(to.id)
  if (adopted) return grantedTo(adopted, true, step)
  const holder = state.holders.get(from.id)
  const hasToken = holder && holder.token <= token && token < holder.token + holder.tokens
  // The new claim may have been withdrawn before this request arrived.
  if (!hasToken || hasTombstone(state, to.id, step)) return { outcome: 'lost', reason: 'expired' }
  if (holder.stolen) return stolenLoss(holder)
  invariant(!state.waiters.has(to.id), 'a waiter adopts no lease', state.lock)
  const heir: Holder = {
    ...holder,
    id: to.id,
    owner: to.owner,
    token,
    tokens: 1,
    ttlMs: to.ttlMs,
    expiresMs: step.nowMs + to.ttlMs,
  }
  state.holders.delete(from.id)
  state.holders.set(to.id, heir)
  state.nextExpiryMs = Math.min(state.nextExpiryMs, heir.expiresMs)
  addTombstone(state, from, 'absent', step)
  return grantedTo(heir, false, step)
}

/**
 * Ends the grants of all holders: at once, or when their leases end.
 * @param lastToken holders with a larger token keep the lock
 */
export function steal(
  state: LockState,
  options: StealOptions,
  step: RuleStep,
  lastToken: number = Infinity,
): StealResult & { readonly freeInMs: number } {
  settle(state, step)
  const holders = [...state.holders.values()].filter(({ token }) => token <= lastToken)
  let freeInMs = 0
  for (const holder of holders) {
    holder.stolen = true
    if (options.reason !== undefined) holder.stealReason = options.reason
    freeInMs = Math.max(freeInMs, holder.expiresMs - step.nowMs)
    if (!options.now) continue
    drop(state, holder)
    addTombstone(state, holder, 'absent', step)
  }
  if (options.now) promote(state, step)
  return { holders: holders.length, freeInMs: options.now ? 0 : freeInMs }
}

/** Returns what `inspect` shows of a lock. Undefined without holders and waiters. */
export function describe(lock: string, state: LockState, step: RuleStep): LockInfo | undefined {
  settle(state, step)
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
      token: BigInt(holder.token),
      heldMs: step.nowMs - holder.grantedMs,
      remainingMs: holder.expiresMs - step.nowMs,
      stolen: holder.stolen,
      ...(holder.stealReason === undefined ? {} : { stealReason: holder.stealReason }),
    })),
    waiters: [...state.waiters.values()].map((waiter) => ({
      claimId: waiter.id,
      owner: readOwner(waiter.owner),
      weight: waiter.weight,
      waitedMs: step.nowMs - waiter.sinceMs,
    })),
  }
}

/** Ends expired leases and promotes waiters. Every verb begins with it. */
export function settle(state: LockState, step: RuleStep): void {
  if (step.nowMs >= state.nextExpiryMs) expire(state, step)
  if (state.waiters.size > 0) promote(state, step)
}

/** Makes holders of the waiters that fit, in order, up to the first live one that does not. */
function promote(state: LockState, step: RuleStep): void {
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

function hold(
  state: LockState,
  claim: Pick<Claim, 'id' | 'owner' | 'weight'>,
  tokens: number,
  ttlMs: number,
  step: RuleStep,
): Holder {
  const isHolder = state.holders.has(claim.id)
  invariant(!isHolder && !state.waiters.has(claim.id), 'a claim is granted once', state.lock)
  const token = Math.max(state.lastToken + 1, step.tokenFloor)
  invariant(token > state.lastToken, 'the tokens of a lock grow', state.lock)
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

function drop(state: LockState, holder: Holder): void {
  state.holders.delete(holder.id)
  addWeight(state, -holder.weight)
  if (state.holders.size > 0) return
  invariant(state.heldWeight === 0, 'a lock without holders has no held weight', state.lock)
  state.nextExpiryMs = Infinity
}

function addWeight(state: LockState, weight: number): void {
  state.heldWeight += weight
  invariant(state.heldWeight >= 0, 'the held weight is not negative', state.lock)
  invariant(state.heldWeight <= state.capacity, 'the held weight fits the capacity', state.lock)
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

function stolenLoss({ stealReason }: Holder): LostRenewal {
  return {
    outcome: 'lost',
    reason: 'stolen',
    ...(stealReason === undefined ? {} : { stealReason }),
  }
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

function hasTombstone(state: LockState, id: string, step: RuleStep): boolean {
  const tombstone = state.tombstones.get(id)
  return tombstone !== undefined && tombstone.untilMs > step.nowMs
}

function addTombstone(
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
