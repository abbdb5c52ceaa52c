/** What went wrong in etcd, and what that means for us. */
import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2'
import { isLockError, StoreUnavailableError, type LockError } from '../../errors.js'
import { DEFAULT_PREFIX } from './keys.js'
import { CERTIFICATE_ADVICE, isCertificateError } from '../../store/tls-errors.js'
import { isUnreachable } from '../coordination/connection/is-unreachable.js'

/** The status with which a call of gRPC ends. */
export const CANCELLED = 1
export const UNKNOWN = 2
export const INVALID_ARGUMENT = 3
export const DEADLINE_EXCEEDED = 4
export const NOT_FOUND = 5
export const PERMISSION_DENIED = 7
export const RESOURCE_EXHAUSTED = 8
export const FAILED_PRECONDITION = 9
export const UNIMPLEMENTED = 12
export const INTERNAL = 13
export const UNAVAILABLE = 14
export const UNAUTHENTICATED = 16

export class GrpcFailure extends Error {
  /** Minifiers rename the class. */
  static override readonly name: string = 'GrpcFailure'
  readonly code: number
  readonly details: string

  /** @param cause why there was no connection */
  constructor(code: number, details: string, cause?: Error) {
    super(`${details} (gRPC status ${code})`, cause === undefined ? undefined : { cause })
    this.code = code
    this.details = details
  }
}

/** What headers or trailers say of the end of a call: undefined when they say nothing. */
export function readStatus(
  headers: IncomingHttpHeaders & IncomingHttpStatusHeader,
): GrpcFailure | 'ok' | undefined {
  const status = headers['grpc-status']
  if (status !== undefined) {
    return Number(status) === 0
      ? 'ok'
      : new GrpcFailure(Number(status), decode(headers['grpc-message']))
  }
  const http = headers[':status'] ?? 200
  if (http === 200) return undefined
  // The server speaks HTTP/2 and no gRPC.
  const busy = http === 429 || http >= 500
  return new GrpcFailure(
    busy ? UNAVAILABLE : UNIMPLEMENTED,
    `the server answered with the HTTP status ${http}`,
  )
}

function decode(text: string | string[] | undefined): string {
  const message = String(text ?? 'no message')
  try {
    return decodeURIComponent(message)
  } catch {
    // A stray percent sign: it is for people, and readable as it is.
    return message
  }
}

function statusOf(error: unknown): GrpcFailure | undefined {
  const cause = isLockError(error) ? error.cause : error
  return cause instanceof GrpcFailure ? cause : undefined
}

/** Whether this member is not able to answer, and another may be. */
export function isWorthAnotherMember(error: unknown): boolean {
  const status = statusOf(error)
  if (!status) return false
  return (
    [UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED].includes(status.code) || isLearner(status.details)
  )
}

/** A member that only learns serves no request, however long it is asked. */
function isLearner(details: string): boolean {
  return details.includes('not supported for learner')
}

/** Whether the member took no connection, so that nothing was sent. */
export function isDown(error: unknown): boolean {
  return isUnreachable(statusOf(error)) || isCertificateError(statusOf(error))
}

/**
 * Whether a request with a login has to be made again with a new one. A token of the JWT kind is
 * good only for the users and roles that existed when it was made. Any change of them ends it. And
 * where authentication was enabled just now, a request may be taken for one without a user. None of
 * them has done anything.
 */
export function isAuthExpired(error: unknown): boolean {
  const status = statusOf(error)
  if (!status) return false
  return status.code === UNAUTHENTICATED || isOldLogin(status.details) || hasNoUser(status.details)
}

function isOldLogin(details: string): boolean {
  return details.includes('revision of auth store is old')
}

function hasNoUser(details: string): boolean {
  return details.includes('user name is empty')
}

/** Whether etcd has refused a request, so that it certainly did nothing. */
export function isRefusal(error: unknown): boolean {
  const code = statusOf(error)?.code
  return code !== undefined && ![UNKNOWN, INTERNAL].includes(code) && !isWorthAnotherMember(error)
}

/** Whether the request had more operations than this etcd takes at once (`--max-txn-ops`). */
export function isTooLarge(error: unknown): boolean {
  return statusOf(error)?.details.includes('too many operations') ?? false
}

export function isLeaseGone(error: unknown): boolean {
  const status = statusOf(error)
  return status?.code === NOT_FOUND && status.details.includes('lease')
}

/**
 * Any failure as an error of Holdfast, with advice where there is some.
 * @param hasAnswered whether etcd has answered this client: then a certificate or a password that
 * is not accepted any more is an outage
 */
export function asLockError(
  error: unknown,
  endpoint = 'etcd',
  folder: string = DEFAULT_PREFIX,
  hasAnswered = true,
): LockError {
  if (isLockError(error)) return error
  const status = statusOf(error)
  const details = status?.details ?? (error instanceof Error ? error.message : String(error))
  const [code, advice] = isCertificateError(status)
    ? certificateAdvice(hasAnswered)
    : isLoginRefused(status)
      ? [loginCode(hasAnswered), 'Look at the user and the password.']
      : adviceOn(status?.code, details, folder)
  return new StoreUnavailableError(`etcd at ${endpoint} failed: ${details}. ${advice}`, {
    code,
    store: 'etcd',
    cause: error,
  })
}

type Advice = readonly ['STORE_UNAVAILABLE' | 'STORE_AUTH' | 'STORE_CONFIG', string]

/** Whether etcd knows no such user, or another password. */
function isLoginRefused(status: GrpcFailure | undefined): boolean {
  return status?.code === INVALID_ARGUMENT && status.details.includes('authentication failed')
}

/** What is refused that was accepted before will be accepted again, once it is corrected. */
function loginCode(hasAnswered: boolean): Advice[0] {
  return hasAnswered ? 'STORE_UNAVAILABLE' : 'STORE_AUTH'
}

function certificateAdvice(hasAnswered: boolean): Advice {
  return [
    loginCode(hasAnswered),
    `${CERTIFICATE_ADVICE} In etcdStore these are tls.ca and tls.serverName.`,
  ]
}

function adviceOn(status: number | undefined, details: string, folder: string): Advice {
  switch (status) {
    case UNAUTHENTICATED:
    case PERMISSION_DENIED:
      return [
        'STORE_AUTH',
        `The user needs a role with read and write access to keys that begin with "${folder}".`,
      ]
    case INVALID_ARGUMENT:
      if (hasNoUser(details)) {
        return ['STORE_AUTH', 'etcd has authentication enabled: give credentials to etcdStore.']
      }
      if (isOldLogin(details)) {
        return [
          'STORE_UNAVAILABLE',
          'Its users or roles are being changed again and again: try later.',
        ]
      }
      return ['STORE_CONFIG', 'The server refused the request; it must be etcd 3.4 or later.']
    case FAILED_PRECONDITION:
      if (details.includes('authentication is not enabled')) {
        return ['STORE_AUTH', 'Leave the credentials away, or enable authentication in etcd.']
      }
      return ['STORE_CONFIG', 'Look at the settings of the server.']
    case RESOURCE_EXHAUSTED:
      return [
        'STORE_UNAVAILABLE',
        'The database is full: compact and defragment it, then disarm the alarm (etcdctl alarm disarm).',
      ]
    case UNIMPLEMENTED:
      return ['STORE_CONFIG', 'The server is no etcd 3.4 or later.']
    case undefined:
    default:
      return ['STORE_UNAVAILABLE', 'Look at the servers and the network.']
  }
}
