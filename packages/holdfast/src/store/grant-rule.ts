/**
 * The grant rule, as plain functions over the state of one lock.
 *
 * A claim is granted when the weights of those that hold, plus its own, fit the capacity and nobody
 * waits before it. Nothing overtakes a claim that waits, so writers and big claims never starve.
 * The memory and the embedded store run these functions inside their own atomic step; the stores
 * with a rule in Lua or SQL are tested against them.
 *
 * The functions never read a clock: the caller's `Turn` says what time it is in the store.
 */
import { lockMismatch } from '../errors.js'
import {
  CAPACITY_ALL,
  HEARTBEATS_TO_LIVE,
  type AttemptOptions,
  type AttemptResult,
  type Claim,
  type ClaimRef,
  type Granted,
  type LockInfo,
  type LockKind,
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

/**
 * Everything that a store keeps about one lock. The maps keep the order of insertion: the queue is
 * that order.
 */
export interface LockState {
  kind: LockKind
  capacity: number
  lastToken: number
  heldWeight: number
  /**
   * No holder's lease ends before this time; renewals leave it too early, which costs one more
   * look.
   */
  nextExpiryMs: number
  /** The number of who came last into the queue, since the lock was idle. */
  lastQueueNumber: number
  readonly holders: Map<string, Holder>
  readonly waiters: Map<string, Waiter>
  readonly tombstones: Map<string, Tombstone>
}

/** The circumstances of one atomic step, and what it brought about besides its own result. */
export interface Turn {
  /** The store's clock. */
  nowMs: number
  /**
   * No token may be smaller: the store's clock in microseconds, or a counter that survives idle
   * locks.
   */
  tokenFloor: number
  /** How many withdrawn claims a lock remembers at most. */
  tombstoneLimit: number
  /** Waiters that this step made holders, in order: wake them. */
  readonly promoted: Holder[]
}

export function newLockState(): LockState {
  return {
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

/** Whether nothing but the memory of past claims is left. */
export function isIdle(state: LockState): boolean {
  return state.holders.size === 0 && state.waiters.size === 0
}

export function attempt(
  state: LockState,
  claim: Claim,
  options: AttemptOptions,
  turn: Turn,
): AttemptResult {
  settle(state, turn)
  // An attempt that arrives after its own withdraw, or after its lease ended, must not become a
  // ghost.
  if (isBuried(state, claim.id, turn)) return { outcome: 'withdrawn' }
  const holder = state.holders.get(claim.id)
  if (holder) return grantedTo(holder, true, turn)
  const waiter = state.waiters.get(claim.id)
  if (waiter) {
    waiter.seenMs = turn.nowMs
    waiter.owner = claim.owner
    waiter.tokens = options.tokens
    return { outcome: 'waiting', holderRemainingMs: untilNextExpiry(state, turn) }
  }
  adoptShape(state, claim)
  if (isIdle(state)) state.lastQueueNumber = 0
  if (state.waiters.size === 0 && state.heldWeight + claim.weight <= state.capacity) {
    return grantedTo(hold(state, claim, options.tokens, claim.ttlMs, turn), false, turn)
  }
  if (!options.enqueue) return { outcome: 'busy', holderRemainingMs: untilNextExpiry(state, turn) }
  state.waiters.set(claim.id, {
    id: claim.id,
    owner: claim.owner,
    weight: claim.weight,
    ttlMs: claim.ttlMs,
    heartbeatMs: claim.heartbeatMs,
    tokens: options.tokens,
    sinceMs: turn.nowMs,
    seenMs: turn.nowMs,
  })
  state.lastQueueNumber += 1
  return {
    outcome: 'waiting',
    queueNumber: state.lastQueueNumber,
    holderRemainingMs: untilNextExpiry(state, turn),
  }
}

export function renew(state: LockState, renewal: Renewal, turn: Turn): RenewResult {
  settle(state, turn)
  const holder = state.holders.get(renewal.id)
  if (!holder) return { outcome: 'lost', reason: 'expired' }
  if (holder.stolen) return { outcome: 'lost', reason: 'stolen', ...stealReasonOf(holder) }
  holder.owner = renewal.owner
  holder.ttlMs = renewal.ttlMs
  holder.expiresMs = turn.nowMs + renewal.ttlMs
  // A shorter TTL than before would otherwise end unnoticed.
  state.nextExpiryMs = Math.min(state.nextExpiryMs, holder.expiresMs)
  return { outcome: 'renewed' }
}

export function withdraw(state: LockState, claim: ClaimRef, turn: Turn): WithdrawOutcome {
  settle(state, turn)
  const holder = state.holders.get(claim.id)
  if (holder) {
    drop(state, holder)
    bury(state, claim, 'released', turn)
    promote(state, turn)
    return 'released'
  }
  if (state.waiters.delete(claim.id)) {
    bury(state, claim, 'left', turn)
    // The one that left may have been all that stood before a smaller claim.
    promote(state, turn)
    return 'left'
  }
  // Buried anew even if it was before: what was known of its end may be so old that it refuses
  // nothing any more.
  const outcome = state.tombstones.get(claim.id)?.outcome ?? 'absent'
  bury(state, claim, outcome, turn)
  return outcome
}

export function downgrade(state: LockState, claim: ClaimRef, turn: Turn): boolean {
  settle(state, turn)
  const holder = state.holders.get(claim.id)
  if (!holder || state.kind !== 'readWriteLock') return false
  state.heldWeight -= holder.weight - 1
  holder.weight = 1
  promote(state, turn)
  return true
}

/** @param lastToken whoever has a later one is left alone */
export function steal(
  state: LockState,
  options: StealOptions,
  turn: Turn,
  lastToken: number = Infinity,
): StealResult & { readonly freeInMs: number } {
  settle(state, turn)
  const holders = [...state.holders.values()].filter(({ token }) => token <= lastToken)
  let freeInMs = 0
  for (const holder of holders) {
    holder.stolen = true
    if (options.reason !== undefined) holder.stealReason = options.reason
    freeInMs = Math.max(freeInMs, holder.expiresMs - turn.nowMs)
    if (!options.now) continue
    drop(state, holder)
    bury(state, holder, 'absent', turn)
  }
  if (options.now) promote(state, turn)
  return { holders: holders.length, freeInMs: options.now ? 0 : freeInMs }
}

/** What `inspect` shows of a lock; undefined when nobody holds it or waits for it. */
export function describe(lock: string, state: LockState, turn: Turn): LockInfo | undefined {
  settle(state, turn)
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
      heldMs: turn.nowMs - holder.grantedMs,
      remainingMs: holder.expiresMs - turn.nowMs,
      stolen: holder.stolen,
      ...(holder.stealReason === undefined ? {} : { stealReason: holder.stealReason }),
    })),
    waiters: [...state.waiters.values()].map((waiter) => ({
      claimId: waiter.id,
      owner: readOwner(waiter.owner),
      weight: waiter.weight,
      waitedMs: turn.nowMs - waiter.sinceMs,
    })),
  }
}

/** Ends what has expired and lets the queue move up. Every verb begins with it. */
export function settle(state: LockState, turn: Turn): void {
  if (turn.nowMs >= state.nextExpiryMs) expire(state, turn)
  if (state.waiters.size > 0) promote(state, turn)
}

/**
 * Makes holders of the waiters that fit, in order. The first one that lives and does not fit stops
 * the queue.
 */
function promote(state: LockState, turn: Turn): void {
  for (const waiter of state.waiters.values()) {
    const livesMs = waiter.heartbeatMs * HEARTBEATS_TO_LIVE
    if (waiter.seenMs + livesMs <= turn.nowMs) {
      state.waiters.delete(waiter.id)
      continue
    }
    if (state.heldWeight + waiter.weight > state.capacity) return
    state.waiters.delete(waiter.id)
    // Short until the first renewal: a waiter that died a moment ago must not cost a whole TTL.
    turn.promoted.push(hold(state, waiter, waiter.tokens, Math.min(waiter.ttlMs, livesMs), turn))
  }
}

function expire(state: LockState, turn: Turn): void {
  let next = Infinity
  for (const holder of state.holders.values()) {
    if (holder.expiresMs > turn.nowMs) next = Math.min(next, holder.expiresMs)
    else {
      drop(state, holder)
      bury(state, holder, 'absent', turn)
    }
  }
  state.nextExpiryMs = next
}

function hold(
  state: LockState,
  claim: Pick<Claim, 'id' | 'owner' | 'weight'>,
  tokens: number,
  ttlMs: number,
  turn: Turn,
): Holder {
  const token = Math.max(state.lastToken + 1, turn.tokenFloor)
  const holder: Holder = {
    id: claim.id,
    owner: claim.owner,
    weight: claim.weight,
    token,
    tokens,
    grantedMs: turn.nowMs,
    ttlMs,
    expiresMs: turn.nowMs + ttlMs,
    stolen: false,
  }
  state.lastToken = token + tokens - 1
  state.heldWeight += claim.weight
  state.holders.set(claim.id, holder)
  if (holder.expiresMs < state.nextExpiryMs) state.nextExpiryMs = holder.expiresMs
  return holder
}

function drop(state: LockState, holder: Holder): void {
  state.holders.delete(holder.id)
  state.heldWeight -= holder.weight
  if (state.holders.size === 0) state.nextExpiryMs = Infinity
}

function grantedTo(holder: Holder, alreadyGranted: boolean, turn: Turn): Granted {
  return {
    outcome: 'granted',
    token: BigInt(holder.token),
    tokens: holder.tokens,
    ttlMs: holder.ttlMs,
    alreadyGranted,
    remainingMs: holder.expiresMs - turn.nowMs,
  }
}

function stealReasonOf({ stealReason }: Holder): { stealReason?: string } {
  return stealReason === undefined ? {} : { stealReason }
}

function untilNextExpiry(state: LockState, turn: Turn): number | undefined {
  return state.nextExpiryMs === Infinity ? undefined : state.nextExpiryMs - turn.nowMs
}

/**
 * A lock that nobody uses takes the kind and capacity of whoever comes first; until it is idle
 * again they stand.
 */
function adoptShape(state: LockState, claim: Claim): void {
  if (state.kind === claim.kind && state.capacity === claim.capacity) return
  if (!isIdle(state)) {
    if (areAlike(state, claim)) {
      // Whatever is not only a mutex any more is shown as what it has become.
      if (claim.kind === 'readWriteLock') state.kind = claim.kind
      return
    }
    throw lockMismatch(claim, state)
  }
  state.kind = claim.kind
  state.capacity = claim.capacity
}

/**
 * Whether two claims can be weighed against each other: a mutex is the writer of a readers-writer
 * lock.
 */
function areAlike(
  one: Pick<Claim, 'kind' | 'capacity'>,
  other: Pick<Claim, 'kind' | 'capacity'>,
): boolean {
  return (
    one.capacity === other.capacity && (one.kind === 'semaphore') === (other.kind === 'semaphore')
  )
}

function isBuried(state: LockState, id: string, turn: Turn): boolean {
  const tombstone = state.tombstones.get(id)
  return tombstone !== undefined && tombstone.untilMs > turn.nowMs
}

function bury(
  state: LockState,
  claim: { id: string; ttlMs: number },
  outcome: WithdrawOutcome,
  turn: Turn,
): void {
  const { tombstones } = state
  // The oldest stands first, and the first that is not over ends the search below.
  tombstones.delete(claim.id)
  tombstones.set(claim.id, { untilMs: turn.nowMs + claim.ttlMs, outcome })
  for (const [id, oldest] of tombstones) {
    if (tombstones.size <= turn.tombstoneLimit && oldest.untilMs > turn.nowMs) return
    tombstones.delete(id)
  }
}
