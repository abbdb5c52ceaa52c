/**
 * The state of a lock as one line of JSON, and back. Short keys, since the line is written at each grant.
 */
import type { LockKind, Owner, WithdrawOutcome } from '../../store/contract.js'
import { newLockState, type LockState } from '../../store/grant-rule.js'

/** A lock as this store keeps it: the rule's state, and which process each claim lives in. */
export interface StoredLock {
  readonly state: LockState
  /** Claim id → the id of the station that made it. */
  readonly stations: Map<string, string>
}

type PackedHolder = [
  id: string,
  station: string,
  Owner,
  weight: number,
  token: number,
  tokens: number,
  grantedMs: number,
  ttlMs: number,
  expiresMs: number,
  stolen: 0 | 1,
]
type PackedWaiter = [
  id: string,
  station: string,
  Owner,
  weight: number,
  ttlMs: number,
  heartbeatMs: number,
  tokens: number,
  sinceMs: number,
  seenMs: number,
]
type PackedTombstone = [id: string, untilMs: number, WithdrawOutcome]

interface PackedLock {
  readonly k: LockKind
  readonly c: number
  readonly t: number
  readonly h: readonly PackedHolder[]
  readonly w: readonly PackedWaiter[]
  readonly d: readonly PackedTombstone[]
}

export function newStoredLock(): StoredLock {
  return { state: newLockState(), stations: new Map() }
}

export function pack({ state, stations }: StoredLock): string {
  const stationOf = (id: string): string => stations.get(id) ?? ''
  const packed: PackedLock = {
    k: state.kind,
    c: state.capacity,
    t: state.lastToken,
    h: Array.from(state.holders.values(), (holder) => [
      holder.id,
      stationOf(holder.id),
      holder.owner,
      holder.weight,
      holder.token,
      holder.tokens,
      holder.grantedMs,
      holder.ttlMs,
      holder.expiresMs,
      holder.stolen ? 1 : 0,
    ]),
    w: Array.from(state.waiters.values(), (waiter) => [
      waiter.id,
      stationOf(waiter.id),
      waiter.owner,
      waiter.weight,
      waiter.ttlMs,
      waiter.heartbeatMs,
      waiter.tokens,
      waiter.sinceMs,
      waiter.seenMs,
    ]),
    d: Array.from(state.tombstones, ([id, { untilMs, outcome }]) => [id, untilMs, outcome]),
  }
  return JSON.stringify(packed)
}

export function unpack(text: string): StoredLock {
  const packed = JSON.parse(text) as PackedLock
  const lock = newStoredLock()
  const { state, stations } = lock
  state.kind = packed.k
  state.capacity = packed.c
  state.lastToken = packed.t
  for (const [id, station, owner, weight, token, tokens, grantedMs, ttlMs, expiresMs, stolen] of packed.h) {
    const holder = { id, owner, weight, token, tokens, grantedMs, ttlMs, expiresMs, stolen: stolen === 1 }
    state.holders.set(id, holder)
    stations.set(id, station)
    state.heldWeight += weight
    state.nextExpiryMs = Math.min(state.nextExpiryMs, expiresMs)
  }
  for (const [id, station, owner, weight, ttlMs, heartbeatMs, tokens, sinceMs, seenMs] of packed.w) {
    state.waiters.set(id, { id, owner, weight, ttlMs, heartbeatMs, tokens, sinceMs, seenMs })
    stations.set(id, station)
  }
  for (const [id, untilMs, outcome] of packed.d) state.tombstones.set(id, { untilMs, outcome })
  return lock
}
