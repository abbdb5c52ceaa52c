/**
 * What travels to the database and back: a list of requests as JSON, and a list of answers. The
 * same for every SQL store.
 *
 * Owners and reasons are JSON inside the JSON: databases refuse some characters in theirs that a
 * label may have.
 */
import { lockMismatch } from '../../errors.js'
import type {
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  HolderInfo,
  LockInfo,
  LockKind,
  Owner,
  Renewal,
  RenewResult,
  StealOptions,
  StealResult,
  WaiterInfo,
  WithdrawOutcome,
} from '../../store/contract.js'
import { parseOwner, parseText } from '../../store/owner.js'

/** One request on one lock. */
export interface Request {
  readonly verb: 'attempt' | 'renew' | 'withdraw' | 'downgrade' | 'steal' | 'inspect' | 'guard'
  readonly lock: string
  readonly [detail: string]: string | number | boolean | undefined
}

/** What changes nothing more when it is done again, and is answered as if it were done now. */
const REPEATABLE: ReadonlySet<string> = new Set<Request['verb']>([
  'attempt',
  'renew',
  'withdraw',
  'inspect',
])

export function areRepeatable(requests: readonly Request[]): boolean {
  return requests.every(({ verb }) => REPEATABLE.has(verb))
}

/**
 * The database's answer to one request; which properties it has depends on the verb. Numbers may
 * come as text.
 */
export type Answer = Readonly<Record<string, unknown>>

/** In the order of the requests. One is missing when the database does not answer as it should. */
export type Answers = readonly (Answer | undefined)[]

export function attemptRequest(claim: Claim, options: AttemptOptions, channel: string): Request {
  const { lock, id, kind, capacity, weight, ttlMs, heartbeatMs } = claim
  return {
    verb: 'attempt',
    lock,
    id,
    kind,
    capacity,
    weight,
    ttlMs,
    heartbeatMs,
    owner: ownerText(claim.owner),
    tokens: options.tokens,
    enqueue: options.enqueue,
    channel,
  }
}

/** @throws LockUsageError (`LOCK_MISMATCH`) when the lock is in use as something else. */
export function attemptResult(answer: Answer, claim: Claim, store: string): AttemptResult {
  switch (answer['outcome']) {
    case 'granted':
      return {
        outcome: 'granted',
        token: BigInt(answer['token'] as string),
        tokens: Number(answer['tokens']),
        ttlMs: Number(answer['ttlMs']),
        alreadyGranted: isTrue(answer['existing']),
        remainingMs: Number(answer['remainingMs']),
      }
    case 'waiting':
      return {
        outcome: 'waiting',
        queueNumber: numberOf(answer['place']),
        holderRemainingMs: timeLeft(answer),
      }
    case 'busy':
      return { outcome: 'busy', holderRemainingMs: timeLeft(answer) }
    case 'mismatch':
      throw lockMismatch(
        claim,
        { kind: String(answer['kind']), capacity: String(answer['capacity']) },
        store,
      )
    default:
      return { outcome: 'withdrawn' }
  }
}

function numberOf(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value)
}

function timeLeft(answer: Answer): number | undefined {
  const leftMs = numberOf(answer['holderRemainingMs'])
  return leftMs === undefined ? undefined : Math.max(0, leftMs)
}

export function renewRequest({ lock, id, ttlMs, owner }: Renewal): Request {
  return { verb: 'renew', lock, id, ttlMs, owner: ownerText(owner) }
}

export function renewResult({ outcome, reason, because }: Answer): RenewResult {
  if (outcome === 'renewed') return { outcome }
  if (reason !== 'stolen') return { outcome: 'lost', reason: 'expired' }
  const text = parseText(because)
  return { outcome: 'lost', reason, ...(text === undefined ? {} : { stealReason: text }) }
}

export function withdrawRequest({ lock, id, ttlMs }: ClaimRef): Request {
  return { verb: 'withdraw', lock, id, ttlMs }
}

export function withdrawOutcome({ outcome }: Answer): WithdrawOutcome {
  return outcome as WithdrawOutcome
}

export function stealRequest(lock: string, { now, reason }: StealOptions): Request {
  return {
    verb: 'steal',
    lock,
    now,
    ...(reason === undefined ? {} : { because: plainJson(reason) }),
  }
}

export function stealResult({ holders, freeInMs, guarded }: Answer): StealResult {
  if (isTrue(guarded)) return { holders: Number(holders), freeInMs: undefined, guarded: true }
  return { holders: Number(holders), freeInMs: Number(freeInMs) }
}

/** Of `downgrade` and `guard`. */
export function isDone({ done }: Answer): boolean {
  return isTrue(done)
}

/** All claims of a client have one owner, mostly. */
const ownerTexts = new WeakMap<Owner, string>()

function ownerText(owner: Owner): string {
  let text = ownerTexts.get(owner)
  if (text === undefined) {
    text = plainJson(owner)
    ownerTexts.set(owner, text)
  }
  return text
}

/**
 * JSON without anything that would arrive as something else through a connection with another
 * character set.
 */
function plainJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[\u007f-\uffff]/g, escaped)
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Undefined when nobody holds the lock or waits for it. */
export function lockInfo(lock: string, answer: Answer): LockInfo | undefined {
  const holders = (answer['holders'] as Answer[]).map(holderInfo)
  const waiters = (answer['waiters'] as Answer[]).map(waiterInfo)
  if (holders.length === 0 && waiters.length === 0) return undefined
  const row = answer['lock'] as Answer
  const lastToken = BigInt(row['lastToken'] as string)
  return {
    lock,
    kind: row['kind'] as LockKind,
    capacity: Number(row['capacity']),
    lastToken: lastToken === 0n ? undefined : lastToken,
    holders,
    waiters,
  }
}

function holderInfo(row: Answer): HolderInfo {
  const stealReason = parseText(row['because'])
  return {
    claimId: row['claimId'] as string,
    owner: parseOwner(row['owner']),
    weight: Number(row['weight']),
    token: BigInt(row['token'] as string),
    heldMs: Number(row['heldMs']),
    remainingMs: Number(row['remainingMs']),
    stolen: isTrue(row['stolen']),
    ...(stealReason === undefined ? {} : { stealReason }),
  }
}

function waiterInfo(row: Answer): WaiterInfo {
  return {
    claimId: row['claimId'] as string,
    owner: parseOwner(row['owner']),
    weight: Number(row['weight']),
    waitedMs: Number(row['waitedMs']),
  }
}

/** Databases without a type for it say 1 or 0, as a number or as text. */
function isTrue(value: unknown): boolean {
  return Number(value) === 1
}
