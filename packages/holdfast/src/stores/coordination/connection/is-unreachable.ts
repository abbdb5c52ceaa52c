/** Error codes of the system for an address that accepts no connection: nothing was sent. */
const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
])

/** Returns whether the error, or its cause, says that an address accepts no connection. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('code' in error && UNREACHABLE.has(String(error.code))) || isUnreachable(error.cause)
}
