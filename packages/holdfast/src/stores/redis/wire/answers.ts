/**
 * What the scripts answer, read. The formats are in the headers of `rule/apply-batch.lua` and
 * `rule/admin.lua`.
 */
import { lockMismatch } from '../../../store/errors.js'
import type {
  AttemptResult,
  Claim,
  HolderInfo,
  LockInfo,
  LockKind,
  PushedGrant,
  AdoptResult,
  RenewResult,
  WaiterInfo,
  WithdrawOutcome,
} from '../../../store/contract.js'
import { parseOwner, parseText } from '../../../store/owner.js'
import { stolenLoss, stolenWithdrawal } from '../../../store/stolen.js'
import { inDoubt, STORE_NAME } from '../errors.js'
import type { AdoptedByAnother, SealResult } from './redlock-seal.js'

const WITHDRAWN: AttemptResult = { outcome: 'withdrawn' }
/** The answer to a withdrawal alone in its call that released the lock. */
const RELEASED = '1'
const NINE = '9'.charCodeAt(0)

/**
 * Returns the answer to one request as text.
 * @throws what the script reports about this request.
 */
export function lineOf(reply: unknown): string {
  const line = typeof reply === 'string' ? reply : textOf(reply)
  if (line.startsWith('e ')) throw new Error(line.slice(2))
  return line
}

/**
 * @param line the answer, or the token alone of a claim that was granted as asked for
 * @param tokens how many tokens the attempt asked for
 * @throws LockUsageError (`LOCK_MISMATCH`) when the lock is in use as something else.
 */
export function readAttempt(line: string | number, claim: Claim, tokens: number): AttemptResult {
  // The token as text would be made here and read again.
  if (typeof line === 'number') return grantedWith(BigInt(line), claim, tokens)
  if (line.startsWith('n')) return grantedWith(BigInt(line.slice(1)), claim, tokens)
  // Some clients return a number as text.
  if (line.charCodeAt(0) <= NINE) return grantedWith(BigInt(line), claim, tokens)
  const [letter, ...rest] = line.split(' ') as [string, ...string[]]
  switch (letter) {
    case 'g':
      return {
        outcome: 'granted',
        alreadyGranted: rest[0] === '1',
        token: BigInt(rest[1] as string),
        tokens: Number(rest[2]),
        ttlMs: Number(rest[3]),
        remainingMs: Number(rest[4]),
      }
    case 'w':
      return {
        outcome: 'waiting',
        queueNumber: rest[0] === '-' ? undefined : Number(rest[0]),
        holderRemainingMs: optional(rest[1]),
      }
    case 'b':
      return { outcome: 'busy', holderRemainingMs: optional(rest[0]) }
    case 'x':
      return line === 'x' ? WITHDRAWN : stolenWithdrawal(readReason(line.slice(2)))
    case 'm':
      throw lockMismatch(
        claim,
        { kind: rest[0] as string, capacity: rest[1] as string },
        STORE_NAME,
      )
    default:
      throw strange(line)
  }
}

function grantedWith(token: bigint, { ttlMs }: Claim, tokens: number): AttemptResult {
  return { outcome: 'granted', alreadyGranted: false, token, tokens, ttlMs, remainingMs: ttlMs }
}

/**
 * Whether the answer to an attempt is that the lock was not to be had: busy, or in use as something
 * else.
 */
export function isRefusal(line: string): boolean {
  return line.startsWith('b') || line.startsWith('m')
}

/** One for all: a process may renew ten thousand leases in a go. */
const RENEWED: RenewResult = { outcome: 'renewed' }

export function readRenewal(line: string): RenewResult {
  if (line === 'r') return RENEWED
  if (line === 'l') return { outcome: 'lost', reason: 'expired' }
  if (!line.startsWith('s ')) throw strange(line)
  return stolenLoss(readReason(line.slice(2)))
}

/** Reads the answer to an adoption by `claim`. */
export function readAdoption(line: string, claim: Claim): AdoptResult | AdoptedByAnother {
  if (line === 'a') return { outcome: 'adopted' }
  const result = line.startsWith('g ') ? readAttempt(line, claim, 1) : readRenewal(line)
  if (result.outcome === 'granted' || result.outcome === 'lost') return result
  throw strange(line)
}

export function readWithdrawal(line: string): WithdrawOutcome {
  if (line === RELEASED) return 'released'
  if (line === 'released' || line === 'left' || line === 'absent') return line
  throw strange(line)
}

export function readSeal(line: string): SealResult {
  if (line === 'sealed') return { outcome: 'sealed' }
  const lastToken = /^behind (\d+)$/.exec(line)?.[1]
  if (lastToken !== undefined) return { outcome: 'behind', lastToken: BigInt(lastToken) }
  const result = readRenewal(line)
  if (result.outcome === 'lost') return result
  throw strange(line)
}

/**
 * Returns a grant that was published; undefined for any other text, since every client with the
 * right to publish can write to the channel.
 */
export function readGrant(line: string): (PushedGrant & { readonly claimId: string }) | undefined {
  const [claimId, token = '', tokens, ttl, ...more] = line.split(' ')
  const [tokenCount, ttlMs] = [Number(tokens), Number(ttl)]
  if (claimId === undefined || claimId === '' || more.length > 0 || !/^\d{1,16}$/.test(token))
    return undefined
  if (!Number.isSafeInteger(tokenCount) || tokenCount < 1 || !(ttlMs > 0)) return undefined
  return { claimId, token: BigInt(token), tokens: tokenCount, ttlMs }
}

/** Returns undefined for an idle lock. */
export function readLock(lock: string, reply: unknown): LockInfo | undefined {
  if (!Array.isArray(reply)) return undefined
  const [kind, capacity, lastToken, holders, waiters] = reply as [
    unknown,
    unknown,
    unknown,
    unknown[],
    unknown[],
  ]
  return {
    lock,
    kind: textOf(kind) as LockKind,
    capacity: Number(textOf(capacity)),
    lastToken: textOf(lastToken) === '0' ? undefined : BigInt(textOf(lastToken)),
    holders: holders.map(readHolder),
    waiters: waiters.map(readWaiter),
  }
}

function readHolder(reply: unknown): HolderInfo {
  const [claimId, owner, weight, token, heldMs, remainingMs, stolen, reason, ttlMs] = texts(reply)
  const stealReason = readReason(reason ?? '')
  return {
    claimId: claimId as string,
    owner: parseOwner(owner),
    weight: Number(weight),
    token: token === '' ? undefined : BigInt(token as string),
    heldMs: Number(heldMs),
    remainingMs: Number(remainingMs),
    ttlMs: Number(ttlMs),
    stolen: stolen === '1',
    ...(stealReason === undefined ? {} : { stealReason }),
  }
}

function readWaiter(reply: unknown): WaiterInfo {
  const [claimId, owner, weight, waitedMs] = texts(reply)
  return {
    claimId: claimId as string,
    owner: parseOwner(owner),
    weight: Number(weight),
    waitedMs: Number(waitedMs),
  }
}

/** Reasons travel as JSON, so that each stays on its line; an empty one is none. */
function readReason(text: string): string | undefined {
  return text === '' ? undefined : parseText(text)
}

function texts(reply: unknown): string[] {
  return (reply as unknown[]).map(textOf)
}

function optional(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text)
}

function strange(line: string): Error {
  return new Error(`The script gave an answer that makes no sense: ${line.slice(0, 100)}`)
}

/** Returns a reply of the server as text, also where the client answers with buffers or numbers. */
export function textOf(reply: unknown): string {
  if (typeof reply === 'string') return reply
  if (Buffer.isBuffer(reply)) return reply.toString()
  if (typeof reply === 'number' || typeof reply === 'bigint') return String(reply)
  throw new TypeError(
    `a script answered with ${reply === null ? 'nothing' : typeof reply}, not with text`,
  )
}

/** Whether the answer to an attempt shows that the server writes: a replica finds grants, too. */
export function isWrite(result: AttemptResult): boolean {
  if (result.outcome === 'granted') return !result.alreadyGranted
  return result.outcome === 'waiting' && result.queueNumber !== undefined
}

/**
 * Reads the answer to a withdrawal that leaves no firm tombstone. If it may have been sent twice,
 * the first arrival may have released what this one does not find: the outcome is unknown.
 */
export function readOnce(line: string, mayBeSentTwice: boolean): WithdrawOutcome {
  const outcome = readWithdrawal(line)
  if (mayBeSentTwice && outcome === 'absent') throw inDoubt()
  return outcome
}
