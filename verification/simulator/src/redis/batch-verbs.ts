/** The verbs of a batch, each for one item, decided by the grant rule. */
import type { Claim, Owner } from 'holdfast/store'
import { isLockError } from 'holdfast'
import type { LockState } from 'holdfast/internal'
import { grantedLine, notYet, stealReasonText } from './answer-lines.js'
import type { Keyspace } from './keyspace.js'
import { lockOf } from './peer.js'

export type Terms = readonly unknown[]

/** One item of a batch. */
export interface BatchItem {
  readonly key: string
  readonly id: string
  readonly terms: Terms
  readonly channel: string
}

export const VERBS = { a: attempt, r: renew, w: withdraw, t: retract, s: seal }

function attempt(space: Keyspace, { key, id, terms, channel }: BatchItem): string {
  const { state, step } = space.begin(key)
  const { claim, options } = claimOf(key, id, terms)
  const wasIdle = space.rule.isIdle(state)
  try {
    const answer = space.rule.attempt(state, claim, options, step)
    if (answer.outcome === 'withdrawn')
      return answer.stolen === true ? `x ${stealReasonText(answer.stealReason)}` : 'x'
    if (answer.outcome === 'waiting') {
      if (!space.channels.has(id)) space.channels.set(id, channel)
      return notYet(`w ${answer.queueNumber ?? '-'}`, answer.holderRemainingMs)
    }
    if (answer.outcome === 'busy') {
      space.truth.refused(id)
      return notYet('b', answer.holderRemainingMs)
    }
    const { token } = answer
    space.truth.reserved(id, answer)
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
  space.rule.expireAndPromote(state, step)
  if (!state.holders.has(id)) return 'absent'
  space.rule.withdraw(state, { lock: lockOf(key), id, ttlMs: 0 }, step)
  state.tombstones.delete(id)
  return 'released'
}

/** Decides as `scripts/parts/redlock-seal.lua` does. */
function seal(space: Keyspace, { key, id, terms }: BatchItem): string {
  const { state, step } = space.begin(key)
  space.rule.expireAndPromote(state, step)
  const holder = state.holders.get(id)
  if (!holder) return 'l'
  if (holder.stolen) return `s ${stealReasonText(holder.stealReason)}`
  const token = terms[0] as number
  if (token > state.lastToken) raiseToken(state, id, token)
  else if (token !== holder.token) return `behind ${state.lastToken}`
  space.tokens.note('seal', lockOf(key), id, BigInt(token))
  return 'sealed'
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
