/** Errors of locks as answers to HTTP requests. */
import { isLockError, type LockTimeoutError } from 'holdfast'

/** Codes of a lock that others hold: the client may try again. */
const BUSY: ReadonlySet<string> = new Set(['LOCK_TIMEOUT', 'LOCK_QUEUE_FULL', 'DEADLOCK'])

/** Codes of a store that does not answer or refuses to work, and of an application that closes. */
const AWAY: ReadonlySet<string> = new Set([
  'STORE_UNAVAILABLE',
  'STORE_AUTH',
  'STORE_CONFIG',
  'STORE_FORMAT',
  'NOT_REPLICATED',
  'RELEASE_UNKNOWN',
  'LOCKS_CLOSED',
])

/**
 * What `request.lock` rejects with when the request cannot have the lock. Fastify makes the
 * response of it. The message names no lock and no server, since clients read it. The cause has
 * them.
 */
export class RequestLockError extends Error {
  override readonly name: string = 'RequestLockError'
  /** The status of the response: 423 busy, 503 the store is away, 499 the client disconnected. */
  readonly statusCode: 423 | 499 | 503
  /** The code of the cause, or `CLIENT_DISCONNECTED`. */
  readonly code: string
  /** Headers of the response: `retry-after` with 423. */
  readonly headers: Readonly<Record<string, string>>

  /** @internal */
  constructor(
    statusCode: 423 | 499 | 503,
    message: string,
    details: {
      readonly code: string
      readonly headers?: Readonly<Record<string, string>>
      readonly cause?: unknown
    },
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.statusCode = statusCode
    this.code = details.code
    this.headers = details.headers ?? {}
  }
}

/** Returns the reason of signals and waits that end because the client has disconnected. */
export function clientDisconnected(): RequestLockError {
  const message = 'The client disconnected before the response had ended.'
  return new RequestLockError(499, message, { code: 'CLIENT_DISCONNECTED' })
}

/** Returns what a client gets for an error. A mistake of the program stays as it is. */
export function forResponse(error: unknown, retryAfterMs: number): unknown {
  if (!isLockError(error)) return error
  const { code } = error
  if (AWAY.has(code) || isUnanswered(error)) {
    const message = 'The lock service is not available. Try again later.'
    return new RequestLockError(503, message, { code, cause: error })
  }
  if (!BUSY.has(code)) return error
  const headers = { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) }
  const message = 'Another request is working on this resource. Try again later.'
  return new RequestLockError(423, message, { code, headers, cause: error })
}

/** A wait can end without an answer: it is then unknown whether the lock is busy. */
function isUnanswered(error: { readonly code: string }): boolean {
  return error.code === 'LOCK_TIMEOUT' && !(error as LockTimeoutError).isAnswered
}
