/**
 * The state of a lock as one line of JSON, and back. The line is short, since each grant reads and
 * writes it. Claims of one process share its description, and do not repeat its id in theirs.
 * Waiters with equal requests share the request.
 */
import type { LockKind, Owner, WithdrawOutcome } from '../../../store/contract.js'
import { readOwner } from '../../../store/owner.js'
import { newLockState, type Holder, type LockState } from '../../../store/grant-rule.js'

/** A lock as this store keeps it: the rule's state, and which process each claim lives in. */
export interface StoredLock {
  readonly state: LockState
  /** Claim id → the id of the peer that made it. */
  readonly peerIds: Map<string, string>
}

/** Two processes of one boot may read the clock so differently, at the very most. */
export const CLOCK_SLACK_MS = 1000

/** Who made a claim, and where it lives. */
type PackedSource = [peerId: string, owner: Owner]
type PackedHolder = [
  id: string,
  source: number,
  weight: number,
  token: number,
  tokens: number,
  grantedMs: number,
  ttlMs: number,
  expiresMs: number,
  /** Not stolen, stolen, or stolen for a reason. */
  stolen: 0 | 1 | string,
]
/** Where the end of its lease stands in a holder. */
export const EXPIRES_MS = 7
/** What a waiter asks for. */
type PackedWish = [
  source: number,
  weight: number,
  ttlMs: number,
  heartbeatMs: number,
  tokens: number,
]
/** Whole milliseconds will do for heartbeats. */
type PackedWaiter = [id: string, wish: number, sinceMs: number, seenAfterMs: number]
type PackedTombstone = [
  id: string,
  untilMs: number,
  WithdrawOutcome,
  /** Stolen, or stolen for a reason. Left out when it was not stolen. */
  stolen?: 1 | string,
]

interface PackedLock {
  readonly k: LockKind
  readonly c: number
  readonly t: number
  readonly o: readonly PackedSource[]
  readonly h: readonly PackedHolder[]
  readonly q: readonly PackedWish[]
  readonly w: readonly PackedWaiter[]
  /** The number of the last who came into the queue; left out while there was none. */
  readonly n?: number
  readonly d: readonly PackedTombstone[]
}

/** The part that only lines of locks without a holder and a waiter contain. */
export const UNUSED = '"h":[],"q":[],"w":[],'

/** Stands for the whole capacity, which most claims ask for and which has many digits. */
const WHOLE = 0

export function newStoredLock(name: string): StoredLock {
  return { state: newLockState(name), peerIds: new Map() }
}

export function pack({ state, peerIds }: StoredLock): string {
  const sources = new Sources(peerIds)
  const h = Array.from(state.holders.values(), (holder): PackedHolder => [
    shortId(holder),
    sources.indexOf(holder),
    holder.weight === state.capacity ? WHOLE : holder.weight,
    holder.token,
    holder.tokens,
    holder.grantedMs,
    holder.ttlMs,
    holder.expiresMs,
    holder.stolen ? (holder.stealReason ?? 1) : 0,
  ])
  const q: PackedWish[] = []
  const w = Array.from(state.waiters.values(), (waiter): PackedWaiter => {
    const weight = waiter.weight === state.capacity ? WHOLE : waiter.weight
    const wish: PackedWish = [
      sources.indexOf(waiter),
      weight,
      waiter.ttlMs,
      waiter.heartbeatMs,
      waiter.tokens,
    ]
    const sinceMs = Math.round(waiter.sinceMs)
    return [shortId(waiter), indexOfWish(q, wish), sinceMs, Math.round(waiter.seenMs) - sinceMs]
  })
  const d = Array.from(state.tombstones, ([id, { untilMs, outcome, steal }]): PackedTombstone =>
    steal ? [id, untilMs, outcome, steal.reason ?? 1] : [id, untilMs, outcome],
  )
  const packed: PackedLock = {
    k: state.kind,
    c: state.capacity,
    t: state.lastToken,
    o: sources.all,
    h,
    q,
    w,
    ...(state.lastQueueNumber === 0 ? {} : { n: state.lastQueueNumber }),
    d,
  }
  return JSON.stringify(packed)
}

export function unpack(name: string, text: string): StoredLock {
  const packed = JSON.parse(text) as PackedLock
  const lock = newStoredLock(name)
  const { state } = lock
  state.kind = packed.k
  state.capacity = packed.c
  state.lastToken = packed.t
  state.lastQueueNumber = packed.n ?? 0
  const sources = packed.o.map(([peerId, owner]): PackedSource => [peerId, readOwner(owner)])
  unpackHolders(packed, sources, lock)
  if (state.heldWeight > state.capacity) {
    throw new Error(
      `weights of ${state.heldWeight} are held, and ${state.capacity} is the capacity`,
    )
  }
  unpackWaiters(packed, sources, lock)
  for (const [id, untilMs, outcome, stolen] of packed.d) {
    const reason = typeof stolen === 'string' ? stolen : undefined
    const steal = stolen === undefined ? {} : { steal: { reason } }
    state.tombstones.set(id, { untilMs, outcome, ...steal })
  }
  return lock
}

function unpackHolders(
  packed: PackedLock,
  sources: readonly PackedSource[],
  { state, peerIds }: StoredLock,
): void {
  for (const [
    short,
    source,
    packedWeight,
    token,
    tokens,
    grantedMs,
    ttlMs,
    expiresMs,
    stolen,
  ] of packed.h) {
    const [peerId, owner] = at(sources, source)
    const id = longId(short, owner)
    const weight = packedWeight === WHOLE ? packed.c : packedWeight
    const holder = {
      id,
      owner,
      weight,
      token,
      tokens,
      grantedMs,
      ttlMs,
      expiresMs,
      ...theft(stolen),
    }
    state.holders.set(id, holder)
    peerIds.set(id, peerId)
    state.heldWeight += weight
    state.nextExpiryMs = Math.min(state.nextExpiryMs, expiresMs)
  }
}

function unpackWaiters(
  packed: PackedLock,
  sources: readonly PackedSource[],
  { state, peerIds }: StoredLock,
): void {
  for (const [short, wish, sinceMs, seenAfterMs] of packed.w) {
    const [source, packedWeight, ttlMs, heartbeatMs, tokens] = at(packed.q, wish)
    const [peerId, owner] = at(sources, source)
    const id = longId(short, owner)
    const weight = packedWeight === WHOLE ? packed.c : packedWeight
    const seenMs = sinceMs + seenAfterMs
    if (state.holders.has(id)) throw new Error(`the claim ${id} holds the lock and waits for it`)
    state.waiters.set(id, { id, owner, weight, ttlMs, heartbeatMs, tokens, sinceMs, seenMs })
    peerIds.set(id, peerId)
  }
}

function theft(stolen: 0 | 1 | string): Pick<Holder, 'stolen' | 'stealReason'> {
  return typeof stolen === 'string'
    ? { stolen: true, stealReason: stolen }
    : { stolen: stolen === 1 }
}

/**
 * The distinct owners of a lock's claims. The claims of one process share one object, so the map
 * compares identities.
 */
class Sources {
  readonly all: PackedSource[] = []
  readonly #peerIds: ReadonlyMap<string, string>
  readonly #indices = new Map<Owner, number>()

  constructor(peerIds: ReadonlyMap<string, string>) {
    this.#peerIds = peerIds
  }

  indexOf({ id, owner }: { readonly id: string; readonly owner: Owner }): number {
    const peerId = this.#peerIds.get(id) ?? ''
    const known = this.#indices.get(owner)
    if (known !== undefined && this.all[known]?.[0] === peerId) return known
    this.#indices.set(owner, this.all.length)
    return this.all.push([peerId, owner]) - 1
  }
}

/**
 * Waiters of one process come one after the other more often than not: the last wish is looked at
 * first.
 */
function indexOfWish(wishes: PackedWish[], wish: PackedWish): number {
  const index = wishes.findLastIndex((other) => wish.every((part, place) => part === other[place]))
  return index === -1 ? wishes.push(wish) - 1 : index
}

function at<T>(list: readonly T[], index: number): T {
  const entry = list[index]
  if (entry === undefined) throw new Error(`a claim names the entry ${index} of ${list.length}`)
  return entry
}

/** Stands for the client's id and a dot. No claim id may contain it. */
const OWN = '~'

function shortId({ id, owner }: { readonly id: string; readonly owner: Owner }): string {
  const { clientId } = owner
  return id.startsWith(clientId) && id[clientId.length] === '.'
    ? OWN + id.slice(clientId.length + 1)
    : id
}

function longId(short: string, owner: Owner): string {
  return short.startsWith(OWN) ? `${owner.clientId}.${short.slice(1)}` : short
}
