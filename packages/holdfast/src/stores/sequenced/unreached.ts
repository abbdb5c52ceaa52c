/** What the system says of an address where nobody takes a connection: nothing was sent there. */
const UNREACHED = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
])

/** Whether the error, or what caused it, says that nobody takes a connection at an address. */
export function isUnreached(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('code' in error && UNREACHED.has(String(error.code))) || isUnreached(error.cause)
}
