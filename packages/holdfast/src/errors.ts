/**
 * The errors that Holdfast throws on purpose. Those of fences are in fence/errors.ts, and those of
 * deadlocks and of early aborts in lease/.
 *
 * The constructors set the fields. A field that is only declared takes no code.
 *
 * A message says what happened, to which lock, and what to do. `code` is stable and meant for
 * programs; the text is meant for people and may change. Each failure makes a new instance, so
 * stacks and causes are its own.
 */

import { LockError, type LockErrorDetails } from './lock-error.js'

export { isLockError, LockError, type LockErrorCode, type LockErrorDetails } from './lock-error.js'

/** A holder of a lock, as `inspect` shows it. */
export interface LockHolder {
  /** The claim that holds the lock. */
  readonly claimId: string
  /** The client that holds it. */
  readonly owner: {
    readonly clientId: string
    readonly host: string
    readonly pid: number
    readonly label?: string
  }
  /** The fencing token of the holder's lease; undefined where no single token is known. */
  readonly token: bigint | undefined
  /** The time since the grant, in milliseconds. */
  readonly heldMs: number
  /** The time until the lease ends unless it is renewed, in milliseconds. */
  readonly remainingMs: number
}

/** The longest part of a label that a message shows. */
const SHOWN_LABEL = 100

/** The lock was not granted within `waitMs`: it was busy, or the store has not answered. */
export class LockTimeoutError extends LockError {
  /** @internal */
  static override readonly name: string = 'LockTimeoutError'
  /** How long the caller was prepared to wait, in milliseconds. */
  declare readonly waitMs: number
  /**
   * Who held the lock when a wait of a second or longer ended. Empty after a shorter wait, and
   * where the store did not say within 250 ms.
   */
  declare readonly holders: readonly LockHolder[]
  /**
   * Whether the store has answered. With false it is unknown whether the lock is busy: no answer
   * came, for half of the wait at least.
   */
  declare readonly isAnswered: boolean

  constructor(
    waitMs: number,
    details: LockErrorDetails & {
      lock: string
      advice?: string
      holders?: readonly LockHolder[]
      /** The client that waited. */
      clientId?: string
      isAnswered?: boolean
    },
  ) {
    const { holders = [], isAnswered = true } = details
    super('LOCK_TIMEOUT', timeoutText(waitMs, { ...details, holders, isAnswered }), details)
    this.waitMs = waitMs
    this.holders = holders
    this.isAnswered = isAnswered
  }
}

interface TimeoutFacts {
  readonly lock: string
  readonly store?: string | undefined
  readonly advice?: string
  readonly clientId?: string
  readonly holders: readonly LockHolder[]
  readonly isAnswered: boolean
}

function timeoutText(
  waitMs: number,
  { lock, store = '', advice, clientId, holders, isAnswered }: TimeoutFacts,
): string {
  if (!isAnswered) {
    return (
      `Lock "${lock}" was not granted within ${waitMs} ms: the ${store} store did not answer. ` +
      'It is unknown whether the lock is busy. Check the store and the network, or wait longer (waitMs).'
    )
  }
  const when = waitMs === Infinity ? "when the server's own limit came" : `after ${waitMs} ms`
  const what =
    advice ?? 'Wait longer (waitMs), try again later, or look up its holder with locks.inspect().'
  return `Lock "${lock}" was still busy ${when}${heldBy(holders, clientId)}. ${what}`
}

function heldBy([first, ...others]: readonly LockHolder[], clientId?: string): string {
  if (!first) return ''
  const rest = others.length === 0 ? '' : ` and ${others.length} more`
  const itself = first.owner.clientId === clientId ? 'this process, ' : ''
  return `, held by ${itself}${programText(first.owner)}${rest}`
}

interface Program {
  readonly host: string
  readonly pid: number
  readonly label?: string
}

/** Names a program in a message. Its label is text of that program, so it is quoted and cut. */
export function programText({ host, pid, label }: Program): string {
  const purpose = label === undefined ? '' : ` (${JSON.stringify(label.slice(0, SHOWN_LABEL))})`
  return `pid ${pid} on ${host}${purpose}`
}

/** As many callers of this client wait for the lock already as its `maxWaiters` allows. */
export class LockQueueFullError extends LockError {
  /** @internal */
  static override readonly name: string = 'LockQueueFullError'
  /** How many callers of this client may wait for one lock. */
  declare readonly maxWaiters: number

  constructor(maxWaiters: number, details: LockErrorDetails & { lock: string }) {
    super(
      'LOCK_QUEUE_FULL',
      `Lock "${details.lock}" has ${maxWaiters} waiting callers in this client already, as many as maxWaiters allows. ` +
        'Try again later, or raise maxWaiters.',
      details,
    )
    this.maxWaiters = maxWaiters
  }
}

/** Why a lease ended before its holder released it. */
export type LossReason =
  /** The local deadline passed without an acknowledged renewal. */
  | 'deadline'
  /** The store said that the claim is no longer held. */
  | 'expired'
  /** An operator or another client ended it with `steal`. */
  | 'stolen'
  /** `maxHoldMs` was reached. */
  | 'max-hold'

const LOSS_TEXT: Record<LossReason, string> = {
  deadline: 'no renewal was acknowledged before its deadline',
  expired: 'the store no longer holds it for this owner',
  stolen: 'it was stolen',
  'max-hold': 'it was held for longer than maxHoldMs',
}

/** A TTL below this may be one that was meant in seconds. */
const SHORT_TTL_MS = 1000

/** The hint for a lease that ended by its own TTL, when that was very short. */
function shortTtlText(reason: LossReason, ttlMs = Infinity): string {
  const isOver = reason === 'deadline' || reason === 'expired'
  return isOver && ttlMs < SHORT_TTL_MS ? ` It had ttlMs: ${ttlMs}, in milliseconds.` : ''
}

export type LossDetails = LockErrorDetails & {
  readonly lock: string
  readonly stealReason?: string | undefined
  /** The TTL of the lease. */
  readonly ttlMs?: number
  /** The claim waited for the lock: there was no lease yet. */
  readonly isWaiting?: boolean
}

/**
 * The lease ended before the work under it did, and another holder may work already. Or a steal
 * ended the wait for the lock.
 */
export class LockLostError extends LockError {
  /** @internal */
  static override readonly name: string = 'LockLostError'
  /** How the lease was lost. */
  declare readonly reason: LossReason
  /** Who stole the lock and why, where that was said. */
  declare readonly stealReason: string | undefined

  constructor(reason: LossReason, details: LossDetails) {
    const { stealReason, ttlMs, isWaiting = false } = details
    const what = `${LOSS_TEXT[reason]}${stealReason === undefined ? '' : ` (${stealReason})`}`
    super(
      'LOCK_LOST',
      isWaiting
        ? `The wait for "${details.lock}" ended: ${what}. Acquire it again if the work is still wanted.`
        : `The lease on "${details.lock}" was lost: ${what}. ` +
            `Stop the work, and let the protected resource check the fencing token.${shortTtlText(reason, ttlMs)}`,
      details,
    )
    this.reason = reason
    this.stealReason = stealReason
  }
}

/** The call makes no sense. Nothing was changed. */
export class LockUsageError extends LockError {
  /** @internal */
  static override readonly name: string = 'LockUsageError'
  /** What the lock is in use as (`LOCK_MISMATCH`). */
  declare readonly inUse?: { readonly kind: string; readonly capacity: number }

  constructor(
    message: string,
    details: LockErrorDetails & {
      code?: 'LOCK_USAGE' | 'LOCK_MISMATCH' | 'LOCKS_CLOSED'
      inUse?: { readonly kind: string; readonly capacity: number }
    } = {},
  ) {
    super(details.code ?? 'LOCK_USAGE', message, details)
    if (details.inUse) this.inUse = details.inUse
  }
}

/** Why a store could not do its work. */
export type UnavailableCode =
  | 'STORE_UNAVAILABLE'
  | 'STORE_AUTH'
  | 'STORE_CONFIG'
  | 'STORE_FORMAT'
  | 'NOT_REPLICATED'
  | 'RELEASE_UNKNOWN'

/**
 * The store did not answer, or refused to work. The outcome of the request is unknown unless the
 * store says otherwise. The runtime withdraws or retries each claim that is in doubt.
 */
export class StoreUnavailableError extends LockError {
  /** @internal */
  static override readonly name: string = 'StoreUnavailableError'
  /** The first word of a Redis server's answer, such as `OOM`; undefined without an answer. */
  declare readonly serverCode?: string | undefined

  constructor(
    message: string,
    details: LockErrorDetails & { code?: UnavailableCode; serverCode?: string | undefined } = {},
  ) {
    super(details.code ?? 'STORE_UNAVAILABLE', message, details)
    if (details.serverCode !== undefined) this.serverCode = details.serverCode
  }
}

/** The store does not support this operation. Nothing was changed. */
export class UnsupportedLockError extends LockError {
  /** @internal */
  static override readonly name: string = 'UnsupportedLockError'
  constructor(message: string, details: LockErrorDetails = {}) {
    super('UNSUPPORTED', message, details)
  }
}

/** Holdfast broke one of its own rules (`INTERNAL`). The lock may be in any state. */
export class InternalLockError extends LockError {
  /** @internal */
  static override readonly name: string = 'InternalLockError'
  constructor(rule: string, details: LockErrorDetails = {}) {
    const where = details.lock === undefined ? '' : ` of "${details.lock}"`
    super(
      'INTERNAL',
      `Holdfast broke a rule of its own${where}: ${rule}. ` +
        'This is a defect: please report it with this message and its stack.',
      details,
    )
  }
}
