/**
 * The requests to a database and its answers, as lists in JSON. They are the same for every SQL
 * store.
 *
 * Owners and steal reasons are JSON inside the JSON, since the JSON of databases refuses some
 * characters that a label may have.
 */
import { StoreUnavailableError } from '../../errors.js'
import { lockMismatch } from '../../store/errors.js'
import type {
  Adoption,
  AdoptResult,
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  Granted,
  HolderInfo,
  LockInfo,
  LockKind,
  LostRenewal,
  Owner,
  Renewal,
  RenewResult,
  StealOptions,
  StealResult,
  WaiterInfo,
  WithdrawOutcome,
} from '../../store/contract.js'
import { parseOwner, parseText } from '../../store/owner.js'
import { stolenLoss, stolenWithdrawal } from '../../store/stolen.js'

/** One request on one lock. */
export interface Request {
  readonly verb:
    | 'attempt'
    | 'renew'
    | 'withdraw'
    | 'downgrade'
    | 'adopt'
    | 'takeOver'
    | 'steal'
    | 'stealClaim'
    | 'inspect'
    | 'guard'
  readonly lock: string
  readonly [detail: string]: string | number | boolean | undefined
}

/** Verbs that change nothing when they are repeated, and get the same answer. */
const REPEATABLE: ReadonlySet<string> = new Set<Request['verb']>([
  'attempt',
  'renew',
  'withdraw',
  'adopt',
  'takeOver',
  'inspect',
])

export function areRepeatable(requests: readonly Request[]): boolean {
  return requests.every(({ verb }) => REPEATABLE.has(verb))
}

/** Whether one of them succeeds only on a server that takes writes. */
export function areWrites(requests: readonly Request[]): boolean {
  return requests.some(({ verb }) => verb !== 'inspect')
}

/**
 * Whether these are a release, and the next attempt for its lock, which wants the whole of it. One
 * for a part would seldom find a short way: there are other holders.
 */
export function isRetake(requests: readonly Request[]): boolean {
  const [first, second] = requests
  return (
    requests.length === 2 &&
    first?.verb === 'withdraw' &&
    second?.verb === 'attempt' &&
    first.lock === second.lock &&
    second['weight'] === second['capacity']
  )
}

/** The answer to one request. Its properties depend on the verb. Numbers may come as text. */
export type Answer = Readonly<Record<string, unknown>>

/** In the order of the requests. An answer is undefined if the database did not give it. */
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
      return granted(answer)
    case 'waiting':
      return {
        outcome: 'waiting',
        queueNumber: numberOf(answer['queueNumber']),
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
      return isTrue(answer.stolen)
        ? stolenWithdrawal(parseText(answer.stealReason))
        : { outcome: 'withdrawn' }
  }
}

function granted(answer: Answer): Granted {
  return {
    outcome: 'granted',
    token: BigInt(answer['token'] as string),
    tokens: Number(answer['tokens']),
    ttlMs: Number(answer['ttlMs']),
    alreadyGranted: isTrue(answer['existing']),
    remainingMs: Number(answer['remainingMs']),
  }
}

function numberOf(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value)
}

function timeLeft(answer: Answer): number | undefined {
  const leftMs = numberOf(answer['holderRemainingMs'])
  return leftMs === undefined ? undefined : Math.max(0, leftMs)
}

export function renewRequest({ lock, id, ttlMs, owner, keepsEnd }: Renewal): Request {
  const request: Request = { verb: 'renew', lock, id, ttlMs, owner: ownerText(owner) }
  return keepsEnd === true ? { ...request, keepsEnd } : request
}

export function renewResult(answer: Answer): RenewResult {
  return answer['outcome'] === 'renewed' ? { outcome: 'renewed' } : lostResult(answer)
}

function lostResult({ reason, stealReason }: Answer): LostRenewal {
  if (reason !== 'stolen') return { outcome: 'lost', reason: 'expired' }
  return stolenLoss(parseText(stealReason))
}

/**
 * Without the weight: the lease keeps it. A lease that is detached keeps its token as well. A
 * schema of an earlier version does not know the other verb, so that no adopter gets the token of
 * the holder before it.
 */
export function adoptRequest({ from, token, to, detached }: Adoption): Request {
  const { lock, id, ttlMs, owner } = to
  return {
    verb: detached ? 'adopt' : 'takeOver',
    lock,
    id,
    ttlMs,
    owner: ownerText(owner),
    from: from.id,
    fromTtlMs: from.ttlMs,
    token: String(token),
  }
}

/** @throws StoreUnavailableError while a transaction of the holder before has the guard. */
export function adoptResult(answer: Answer, lock: string, store: string): AdoptResult {
  if (answer['outcome'] === 'granted') return granted(answer)
  if (answer['outcome'] === 'guarded') throw stillCovered(lock, store)
  return lostResult(answer)
}

/** It may be repeated: nothing was changed. */
function stillCovered(lock: string, store: string): StoreUnavailableError {
  return new StoreUnavailableError(
    `The lease on "${lock}" was not adopted: a transaction that its holder began under it has not ended. Try again when it has.`,
    { lock, store },
  )
}

export function withdrawRequest({ lock, id, ttlMs }: ClaimRef): Request {
  return { verb: 'withdraw', lock, id, ttlMs }
}

/** @throws StoreUnavailableError when the claim is gone, and nothing shows how. */
export function withdrawOutcome({ outcome }: Answer, store: string): WithdrawOutcome {
  if (outcome !== 'unknown') return outcome as WithdrawOutcome
  throw new StoreUnavailableError(
    'The connection failed under a release, and the database has no lease any more. It was released or had ended.',
    { store },
  )
}

/** @param waitersUpTo see `Store.inspect`; its ids need no escaping */
export function inspectRequest(lock: string, waitersUpTo?: readonly string[]): Request {
  const request: Request = { verb: 'inspect', lock }
  return waitersUpTo ? { ...request, upTo: waitersUpTo.join(',') } : request
}

/**
 * A schema of an earlier version does not know the verb for one claim, so that it does not end the
 * grants of all holders.
 */
export function stealRequest(lock: string, { claim, now, reason }: StealOptions): Request {
  return {
    ...(claim === undefined ? { verb: 'steal' } : { verb: 'stealClaim', id: claim }),
    lock,
    now,
    ...(reason === undefined ? {} : { stealReason: plainJson(reason) }),
  }
}

export function stealResult({ holders, waiters, freeInMs, guarded }: Answer): StealResult {
  const ended = {
    holders: Number(holders),
    ...(typeof waiters === 'number' ? { waiters } : {}),
  }
  if (isTrue(guarded)) return { ...ended, freeInMs: undefined, guarded: true }
  return { ...ended, freeInMs: Number(freeInMs) }
}

/** Returns the result of `downgrade` or `guard`. */
export function isDone({ done }: Answer): boolean {
  return isTrue(done)
}

/** Most claims of a client have the same owner. */
const ownerTexts = new WeakMap<Owner, string>()

function ownerText(owner: Owner): string {
  let text = ownerTexts.get(owner)
  if (text === undefined) {
    text = plainJson(owner)
    ownerTexts.set(owner, text)
  }
  return text
}

/** Returns JSON in ASCII, which arrives unchanged through a connection of any character set. */
function plainJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[\u007f-\uffff]/g, escaped)
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Returns the state of a lock, or undefined without holders and waiters. */
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
  const stealReason = parseText(row['stealReason'])
  return {
    claimId: row['claimId'] as string,
    owner: parseOwner(row['owner']),
    weight: Number(row['weight']),
    token: typeof row['token'] === 'string' ? BigInt(row['token']) : undefined,
    heldMs: Number(row['heldMs']),
    remainingMs: Number(row['remainingMs']),
    ...(row['ttlMs'] === undefined ? {} : { ttlMs: Number(row['ttlMs']) }),
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

/** Databases without booleans answer 1 or 0, as a number or as text. */
export function isTrue(value: unknown): boolean {
  return Number(value) === 1
}
