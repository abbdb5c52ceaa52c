/** What a client gets when its request cannot have the lock. */
import { isLockError } from 'holdfast'

const BUSY = ['LOCK_TIMEOUT', 'LOCK_QUEUE_FULL', 'DEADLOCK']
const AWAY = ['STORE_UNAVAILABLE', 'STORE_AUTH', 'STORE_CONFIG', 'NOT_REPLICATED', 'LOCKS_CLOSED']

/**
 * Returns the answer to an error of a lock: 423 when it is busy, 503 when the store is away.
 * Undefined for each other error. The text names no lock and no server: clients read it.
 */
export function answerTo(error, retryAfterMs = 1000) {
  if (!isLockError(error)) return undefined
  // A wait can end without an answer of the store: it is then unknown whether the lock is busy.
  if (AWAY.includes(error.code) || error.isAnswered === false)
    return { status: 503, headers: {}, text: 'The lock service is not available.' }
  if (!BUSY.includes(error.code)) return undefined
  const headers = { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) }
  return { status: 423, headers, text: 'Another request is working on this. Try again later.' }
}
