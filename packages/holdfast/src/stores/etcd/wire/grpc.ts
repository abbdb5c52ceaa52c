/** The status with which a call of gRPC ends. */
import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2'

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
