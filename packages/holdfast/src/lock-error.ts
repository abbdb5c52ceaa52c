/** The base of all errors of Holdfast: its code, what it concerns, and how it is shown. */
import { INSPECT, plainOf } from './store/with-json.js'

/** Stable, machine-readable error codes. */
export type LockErrorCode =
  | 'LOCK_TIMEOUT'
  | 'DEADLOCK'
  | 'LOCK_QUEUE_FULL'
  | 'LOCK_LOST'
  | 'LEASE_AT_RISK'
  | 'LOCK_USAGE'
  | 'LOCK_MISMATCH'
  | 'LOCKS_CLOSED'
  | 'NOT_REPLICATED'
  | 'RELEASE_UNKNOWN'
  | 'STORE_UNAVAILABLE'
  | 'STORE_AUTH'
  | 'STORE_CONFIG'
  | 'STORE_FORMAT'
  | 'UNSUPPORTED'
  | 'STALE_TOKEN'
  | 'VERSION_CONFLICT'
  | 'INTERNAL'

/** What an error knows about its circumstances. */
export interface LockErrorDetails {
  /** The full name of the lock, where one lock is concerned. */
  readonly lock?: string | undefined
  /** The store's name, such as `memory` or `redis`. */
  readonly store?: string | undefined
  readonly cause?: unknown
}

const BRAND = Symbol.for('holdfast.LockError')

/** The base of all errors of Holdfast. */
export class LockError extends Error {
  /**
   * Minifiers rename classes, and Node shows the name of the class of an error that is not caught.
   * @internal
   */
  static override readonly name: string = 'LockError'
  override readonly name: string
  /** What went wrong, for programs. It never changes for one kind of failure. */
  readonly code: LockErrorCode
  /** The full name of the lock; undefined where no single lock is concerned. */
  readonly lock: string | undefined
  /** The name of the store; undefined where none is concerned. */
  readonly store: string | undefined

  constructor(code: LockErrorCode, message: string, details: LockErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = new.target.name
    this.code = code
    this.lock = details.lock
    this.store = details.store
    // The brand outlives bundling: two copies of Holdfast in one process recognise each other's
    // errors.
    Object.defineProperty(this, BRAND, { value: true })
  }

  /**
   * Returns what `JSON.stringify` writes: with the message, which errors leave out. Of a foreign
   * cause it has only name, code and message.
   */
  toJSON(): object {
    const { message, cause } = this
    // The cause may be any value: of an object that is no error nothing is shown.
    return plainOf(Object.assign({}, this, { message }, isError(cause) ? { cause } : {})) as object
  }

  // No member of the type: copies of the package in one program accept each other's errors.
  static {
    Object.defineProperty(this.prototype, INSPECT, { value: showError })
  }
}

type InspectFunction = (value: unknown, options: object) => string

/** Returns what `console.log` shows: the stack, the fields, and the cause. */
function showError(
  this: LockError,
  _depth: number,
  options: object,
  inspect: InspectFunction,
): string {
  const { name, stack = '', cause } = this
  const fields = Object.entries(this).filter(
    ([key, value]) => key !== 'name' && value !== undefined,
  )
  const title = stack.startsWith(name) ? stack : stack.replace(/^\w*/, name)
  return `${title} ${inspect(plainOf(Object.fromEntries(fields)), options)}${because(cause, options, inspect)}`
}

/** Returns the cause as text. Clients of servers keep passwords in fields of their errors. */
function because(cause: unknown, options: object, inspect: InspectFunction): string {
  if (!isError(cause)) return ''
  const text = isLockError(cause)
    ? inspect(cause, options)
    : `${cause.stack} ${inspect(plainOf(cause), options)}${because(cause.cause, options, inspect)}`
  return `\n[cause]: ${text}`.replaceAll('\n', '\n  ')
}

function isError(value: unknown): value is Error {
  return value instanceof Error
}

/**
 * Whether `error` comes from Holdfast, from this copy or from another one in the same process.
 */
export function isLockError(error: unknown): error is LockError {
  return typeof error === 'object' && error !== null && BRAND in error
}
