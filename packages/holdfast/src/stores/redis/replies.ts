/** Replies of the server, whatever the caller's client is set up to make of them. */

/** A reply as text, also where the client answers with buffers or numbers. */
export function textOf(reply: unknown): string {
  if (typeof reply === 'string') return reply
  if (Buffer.isBuffer(reply)) return reply.toString()
  if (typeof reply === 'number' || typeof reply === 'bigint') return String(reply)
  throw new TypeError(
    `a script answered with ${reply === null ? 'nothing' : typeof reply}, not with text`,
  )
}
