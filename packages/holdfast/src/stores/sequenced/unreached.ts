/** Error codes of the system for an address that accepts no connection: nothing was sent. */
const UNREACHED = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
])

/** Returns whether the error, or its cause, says that an address accepts no connection. */
export function isUnreached(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('code' in error && UNREACHED.has(String(error.code))) || isUnreached(error.cause)
}
