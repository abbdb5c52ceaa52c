/**
 * What the scripts answer, decided by the grant rule. The formats are those of
 * `scripts/apply-batch.lua` and `scripts/admin.lua`.
 */
import type { Claim, Granted, HolderInfo, Owner } from 'holdfast/store'
import { isLockError } from 'holdfast'
import type { LockState, RuleStep } from '../../../../packages/holdfast/dist/store/grant-rule.js'
import type { Runtime } from '../runtime.js'
import type { TokenLog } from '../redlock/token-log.js'
import type { Truth } from '../server/truth.js'
import { lockOf } from './peer.js'
import type { CommonTombstones } from './tombstones.js'

/** What a script can reach. */
export interface Keyspace {
  readonly rule: Runtime['rule']
  readonly truth: Truth
  readonly tokens: TokenLog
  /** Where each waiter listens: it is kept with the waiter. */
  readonly channels: Map<string, string>
  tombstones(key: string): CommonTombstones
  begin(key: string): { readonly state: LockState; readonly step: RuleStep }
  publish(channel: string, text: string): void
}

type Terms = readonly unknown[]

/** One item of a batch. */
interface BatchItem {
  readonly key: string
  readonly id: string
  readonly terms: Terms
  readonly channel: string
}

type BatchRequest = readonly [verb: keyof typeof VERBS, id: string, terms: string]

/** One line for each item of a call. */
export function applyBatch(
  space: Keyspace,
  keys: readonly string[],
  args: readonly string[],
): string {
  const [where = '', ...rest] = args
  const channel = where.slice(where.indexOf(' ') + 1)
  const items = requestsOf(rest)
  const wakes = new Map<string, string[]>()
  const lines = keys.map((key, index) => {
    const [verb, id, terms] = items[index] as BatchRequest
    const line = VERBS[verb](space, { key, id, terms: JSON.parse(terms) as Terms, channel })
    // The client that asks learns it from the answer.
    collectWakes(space, key, wakes, verb === 'a' ? id : undefined)
    return line
  })
  publishAll(space, wakes)
  return lines.join('\n')
}

/** One item comes as its words, several as one text with their terms behind it. */
function requestsOf([what = '', ...rest]: readonly string[]): BatchRequest[] {
  if (what in VERBS) {
    const [terms = '', id = ''] = rest
    return [[what as keyof typeof VERBS, id, terms]]
  }
  const words = JSON.parse(what) as (string | number)[]
  const items: BatchRequest[] = []
  for (let at = 0; at < words.length; at += 3) {
    const [verb, terms, id] = words.slice(at, at + 3) as [keyof typeof VERBS, number, string]
    items.push([verb, id, rest[terms] ?? ''])
  }
  return items
}

export function downgrade(space: Keyspace, key: string, [id = '']: readonly string[]): number {
  const { state, step } = space.begin(key)
  const done = space.rule.downgrade(state, { lock: lockOf(key), id, ttlMs: 0 }, step)
  publishPromoted(space, key)
  return Number(done)
}

export function steal(
  space: Keyspace,
  key: string,
  [now, reason = '', lastToken]: readonly string[],
): unknown[] {
  const { state, step } = space.begin(key)
  const options = {
    now: now === '1',
    ...(reason === '' ? {} : { reason: JSON.parse(reason) as string }),
  }
  const { holders, freeInMs } = space.rule.steal(state, options, step, Number(lastToken))
  publishPromoted(space, key)
  return [holders, freeInMs.toFixed(3)]
}

/** Decides as `scripts/parts/adopt.lua` does. */
export function adopt(space: Keyspace, key: string, words: readonly string[]): string {
  const [fromId = '', fromTtlMs, token = '', toId = '', ttlMs, owner = ''] = words
  const { state, step } = space.begin(key)
  const lock = lockOf(key)
  const { kind, capacity } = state
  const from = { lock, id: fromId, ttlMs: Number(fromTtlMs) }
  const to: Claim = {
    ...{ lock, id: toId, kind, capacity, weight: 1 },
    ...{ ttlMs: Number(ttlMs), heartbeatMs: Number(ttlMs), owner: JSON.parse(owner) as Owner },
  }
  const adoption = { from, token: BigInt(token), to, detached: false }
  const answer = space.rule.adopt(state, adoption, step)
  publishPromoted(space, key)
  if (answer.outcome === 'lost') {
    if (answer.reason === 'stolen') return `s ${stealReasonText(answer.stealReason)}`
    const holders = [...state.holders.values()]
    const isAdopted =
      !state.holders.has(fromId) && holders.some((holder) => holder.token === Number(token))
    return isAdopted ? 'a' : 'l'
  }
  if (!answer.alreadyGranted) {
    space.truth.withdrawn(from)
    space.tombstones(key).note(fromId, true, state)
  }
  return grantedLine(answer)
}

/** For each key, as `scripts/admin.lua` reports it. */
export function describe(space: Keyspace, keys: readonly string[]): unknown[] {
  return keys.map((key) => {
    const { state, step } = space.begin(key)
    const info = space.rule.describe(lockOf(key), state, step)
    publishPromoted(space, key)
    if (!info) return 0
    const { kind, capacity, lastToken = 0n, holders, waiters } = info
    return [
      kind,
      String(capacity),
      String(lastToken),
      holders.map(holderWords),
      waiters.map(({ claimId, owner, weight, waitedMs }) =>
        [claimId, JSON.stringify(owner), weight, waitedMs].map(String),
      ),
    ]
  })
}

function holderWords({
  claimId,
  owner,
  weight,
  token,
  heldMs,
  remainingMs,
  ...rest
}: HolderInfo): string[] {
  const { stolen, stealReason } = rest
  const reason = stealReason === undefined ? '' : JSON.stringify(stealReason)
  return [
    claimId,
    JSON.stringify(owner),
    weight,
    token,
    heldMs,
    remainingMs,
    Number(stolen),
    reason,
  ].map(String)
}

const VERBS = { a: attempt, r: renew, w: withdraw, t: retract, s: seal }

function attempt(space: Keyspace, { key, id, terms, channel }: BatchItem): string {
  const { state, step } = space.begin(key)
  const { claim, options } = claimOf(key, id, terms)
  const wasIdle = space.rule.isIdle(state)
  try {
    const answer = space.rule.attempt(state, claim, options, step)
    if (answer.outcome === 'withdrawn') return 'x'
    if (answer.outcome === 'waiting') {
      if (!space.channels.has(id)) space.channels.set(id, channel)
      return notYet(`w ${answer.queueNumber ?? '-'}`, answer.holderRemainingMs)
    }
    if (answer.outcome === 'busy') {
      space.truth.refused(id)
      return notYet('b', answer.holderRemainingMs)
    }
    const { token, tokens } = answer
    space.truth.reserved(id, tokens)
    space.tokens.note('vote', claim.lock, id, token)
    if (wasIdle && claim.weight === claim.capacity) return `n${token}`
    return grantedLine(answer)
  } catch (error) {
    if (isLockError(error) && error.code === 'LOCK_MISMATCH')
      return `m ${state.kind} ${state.capacity}`
    throw error
  }
}

function renew(space: Keyspace, { key, id, terms }: BatchItem): string {
  const { state, step } = space.begin(key)
  const [ttlMs, owner, token] = terms as [number, string, number?]
  const shown = JSON.parse(owner) as Owner
  // A TTL of 0 keeps the end of the lease, as in `scripts/parts/renew.lua`.
  const renewal = { lock: lockOf(key), id, ttlMs, owner: shown, keepsEnd: ttlMs === 0 }
  const answer = space.rule.renew(state, renewal, step)
  if (answer.outcome === 'renewed') {
    if (token !== undefined) raiseToken(state, id, token)
    return 'r'
  }
  if (answer.outcome === 'lost' && answer.reason === 'stolen') {
    return `s ${stealReasonText(answer.stealReason)}`
  }
  return 'l'
}

function withdraw(space: Keyspace, { key, id, terms }: BatchItem): string {
  const { state, step } = space.begin(key)
  const claim = { lock: lockOf(key), id, ttlMs: terms[0] as number }
  space.truth.withdrawn(claim)
  const outcome = space.rule.withdraw(state, claim, step)
  space.tombstones(key).note(id, terms[1] === 1, state)
  return outcome
}

/** Ends what the claim holds, and leaves no tombstone. */
function retract(space: Keyspace, { key, id }: BatchItem): string {
  const { state, step } = space.begin(key)
  space.rule.settle(state, step)
  if (!state.holders.has(id)) return 'absent'
  space.rule.withdraw(state, { lock: lockOf(key), id, ttlMs: 0 }, step)
  state.tombstones.delete(id)
  return 'released'
}

/** Decides as `scripts/parts/redlock-seal.lua` does. */
function seal(space: Keyspace, { key, id, terms }: BatchItem): string {
  const { state, step } = space.begin(key)
  space.rule.settle(state, step)
  const holder = state.holders.get(id)
  if (!holder || holder.stolen) return 'absent'
  const token = terms[0] as number
  if (token > state.lastToken) raiseToken(state, id, token)
  else if (token !== holder.token) return `behind ${state.lastToken}`
  space.tokens.note('seal', lockOf(key), id, BigInt(token))
  return 'sealed'
}

function grantedLine({ token, tokens, ttlMs, alreadyGranted, remainingMs }: Granted): string {
  return `g ${Number(alreadyGranted)} ${token} ${tokens} ${ttlMs.toFixed(3)} ${remainingMs.toFixed(3)}`
}

function stealReasonText(reason: string | undefined): string {
  return reason === undefined ? '' : JSON.stringify(reason)
}

function raiseToken(state: LockState, id: string, token: number): void {
  state.lastToken = Math.max(state.lastToken, token)
  const holder = state.holders.get(id)
  if (holder) state.holders.set(id, { ...holder, token })
}

function claimOf(
  key: string,
  id: string,
  terms: Terms,
): {
  readonly claim: Claim
  readonly options: { readonly enqueue: boolean; readonly tokens: number }
} {
  const [kind, capacity, weight, ttlMs, heartbeatMs, tokens, enqueue, owner] = terms as [
    Claim['kind'],
    number,
    number,
    number,
    number,
    number,
    number,
    string,
  ]
  const claim: Claim = {
    lock: lockOf(key),
    id,
    kind,
    capacity,
    weight,
    ttlMs,
    heartbeatMs,
    owner: JSON.parse(owner) as Owner,
  }
  return { claim, options: { enqueue: enqueue === 1, tokens } }
}

function notYet(letter: string, remainingMs: number | undefined): string {
  return remainingMs === undefined ? letter : `${letter} ${Math.max(0, remainingMs).toFixed(3)}`
}

function publishPromoted(space: Keyspace, key: string): void {
  const wakes = new Map<string, string[]>()
  collectWakes(space, key, wakes, undefined)
  publishAll(space, wakes)
}

/** Notes for each channel who has become a holder. */
function collectWakes(
  space: Keyspace,
  key: string,
  wakes: Map<string, string[]>,
  asking: string | undefined,
): void {
  for (const { id, token, tokens, ttlMs } of space.begin(key).step.promoted.splice(0)) {
    space.truth.reserved(id, tokens)
    if (id === asking) continue
    const channel = space.channels.get(id) ?? ''
    const lines = wakes.get(channel) ?? []
    lines.push(`${id} ${token} ${tokens} ${ttlMs.toFixed(3)}`)
    wakes.set(channel, lines)
  }
}

function publishAll(space: Keyspace, wakes: ReadonlyMap<string, readonly string[]>): void {
  for (const [channel, lines] of wakes) space.publish(channel, lines.join('\n'))
}
