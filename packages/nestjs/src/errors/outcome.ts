/** What an error of a lock means to the caller of a handler. */
import { isLockError, type LockError, type LockErrorCode, type LockTimeoutError } from 'holdfast'

/** How long a caller should wait before it tries again after a busy lock, in seconds. */
export const RETRY_AFTER_S = 1

/** How a handler answers that could not work under its lock. */
export interface Outcome {
  readonly status: 423 | 503
  readonly isBusy: boolean
  readonly title: string
  /** Safe to show: the names of locks and of their holders are not in it. */
  readonly message: string
  readonly error: LockError
}

/** The codes of a store that does not do its work. */
const AWAY: ReadonlySet<LockErrorCode> = new Set<LockErrorCode>([
  'LOCK_TIMEOUT',
  'NOT_REPLICATED',
  'STORE_AUTH',
  'STORE_CONFIG',
  'STORE_FORMAT',
  'STORE_UNAVAILABLE',
])

/**
 * Returns how a handler answers after an error; undefined for one that is no outcome of a lock. A
 * lease that was lost is none: the method may have worked.
 */
export function outcomeOf(error: unknown): Outcome | undefined {
  if (!isLockError(error)) return undefined
  if (isBusyError(error) || error.code === 'DEADLOCK') return busy(error)
  if (error.code === 'LOCKS_CLOSED') return away(error, 'This instance shuts down. Try again.')
  if (!AWAY.has(error.code)) return undefined
  return away(error, 'The lock service is not available. Try again later.')
}

/** Whether an error says that the lock was busy, and not that the store is away. */
export function isBusyError(error: LockError): boolean {
  if (error.code === 'LOCK_QUEUE_FULL') return true
  return error.code === 'LOCK_TIMEOUT' && (error as LockTimeoutError).isAnswered
}

function busy(error: LockError): Outcome {
  const message = 'Another request is working on this resource. Try again later.'
  return { status: 423, isBusy: true, title: 'Locked', message, error }
}

function away(error: LockError, message: string): Outcome {
  return { status: 503, isBusy: false, title: 'Service Unavailable', message, error }
}
