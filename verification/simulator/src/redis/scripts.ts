/**
 * What the scripts answer, decided by the grant rule. The formats are those of the scripts under
 * `rule/`.
 */
import type { Claim, HolderInfo, Owner } from 'holdfast/store'
import { grantedLine, stealReasonText } from './answer-lines.js'
import { VERBS, type Terms } from './batch-verbs.js'
import { collectWakes, publishAll, publishPromoted, type Keyspace } from './keyspace.js'
import { lockOf } from './peer.js'

type BatchRequest = readonly [verb: keyof typeof VERBS, id: string, terms: string]

/** Answers the requests of a tick: one line for each. */
export function applyBatch(
  space: Keyspace,
  keys: readonly string[],
  args: readonly string[],
): string {
  const [where = '', ...words] = args
  const [, form = '', channel = ''] = /^(.*?) ?[A-Z]+(?: (.*))?$/s.exec(where) ?? []
  const items = requestsOf(form, words)
  space.proposed = /TOKEN \d+$/.test(where) ? Number(channel) : undefined
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

/** As the client packs a TTL and a small number. */
const PLACES = 1024
/** How many characters such a number has. */
const WIDTH = 16

/** The requests of `apply-batch.lua`, in each of its forms. */
function requestsOf(form: string, words: readonly string[]): BatchRequest[] {
  const [first = '', ...rest] = words
  if (form === 'j') return anyRequests(first, rest)
  if (form.startsWith('w')) return releasesOf(form.slice(1), words)
  if (!form.startsWith('m')) return attemptsOf(first, rest)
  const both = Number(form.slice(1, 1 + WIDTH))
  const ids = rest.splice(0, both % PLACES)
  return [...releasesOf(String(Math.floor(both / PLACES)), ids), ...attemptsOf(first, rest)]
}

function attemptsOf(terms: string, ids: readonly string[]): BatchRequest[] {
  return ids.map((id) => ['a', id, terms])
}

function releasesOf(ttlMs: string, ids: readonly string[]): BatchRequest[] {
  return ids.map((id) => ['w', id, `[${ttlMs},0]`])
}

function anyRequests(list: string, terms: readonly string[]): BatchRequest[] {
  const words = JSON.parse(list) as (string | number)[]
  const items: BatchRequest[] = []
  for (let at = 0; at < words.length; at += 3) {
    const [verb, index, id] = words.slice(at, at + 3) as [keyof typeof VERBS, number, string]
    items.push([verb, id, terms[index] ?? ''])
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
  [now, reason = '', lastToken, claim = '']: readonly string[],
): unknown[] {
  const { state, step } = space.begin(key)
  const options = {
    now: now === '1',
    ...(claim === '' ? {} : { claim }),
    ...(reason === '' ? {} : { reason: JSON.parse(reason) as string }),
  }
  const stolen = space.rule.steal(state, options, step, Number(lastToken))
  publishPromoted(space, key)
  return [stolen.holders, stolen.freeInMs.toFixed(3), stolen.waiters ?? 0]
}

/** Decides as `rule/parts/adopt.lua` does. */
export function adopt(space: Keyspace, key: string, words: readonly string[]): string {
  const [fromId = '', fromTtlMs, token = '', toId = '', ttlMs, owner = '', detaches] = words
  const { state, step } = space.begin(key)
  const lock = lockOf(key)
  const { kind, capacity } = state
  const from = { lock, id: fromId, ttlMs: Number(fromTtlMs) }
  const to: Claim = {
    ...{ lock, id: toId, kind, capacity, weight: 1 },
    ...{ ttlMs: Number(ttlMs), heartbeatMs: Number(ttlMs), owner: JSON.parse(owner) as Owner },
  }
  const adoption = { from, token: BigInt(token), to, detached: detaches === '1' }
  const answer = space.rule.adopt(state, adoption, step)
  publishPromoted(space, key)
  if (answer.outcome === 'lost') {
    if (answer.reason === 'stolen') return `s ${stealReasonText(answer.stealReason)}`
    const isAdopted =
      !state.holders.has(fromId) &&
      [...state.holders.keys()].some((id) => space.predecessors.get(id) === fromId)
    return isAdopted ? 'a' : 'l'
  }
  if (!answer.alreadyGranted) {
    space.truth.withdrawn(from)
    space.tombstones(key).note(fromId, true, state)
    space.predecessors.set(toId, fromId)
    // A token that was sealed here belongs to the detached claim now. An adopter gets a vote.
    space.tokens.note(adoption.detached ? 'seal' : 'vote', lock, toId, answer.token)
  }
  return grantedLine(answer)
}

/** For each key, as `rule/admin.lua` reports it. */
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
  const { stolen, stealReason, ttlMs } = rest
  const reason = stealReason === undefined ? '' : JSON.stringify(stealReason)
  return [
    claimId,
    JSON.stringify(owner),
    weight,
    token ?? '',
    heldMs,
    remainingMs,
    Number(stolen),
    reason,
    ttlMs,
  ].map(String)
}
