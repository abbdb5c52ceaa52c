/** Running scripts: by their hash, and by their source where the server does not know them (yet, or any more). */
import { isUnknownScript } from './errors.js'
import type { Script } from './scripts.generated.js'
import type { Transport } from './transports/transport.js'

/**
 * Runs a script. A server that was restarted, or told SCRIPT FLUSH, has forgotten it and learns it again.
 * NOSCRIPT is answered before anything is done, so that trying again cannot do it twice.
 */
export async function runScript(
  transport: Transport,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  try {
    return await transport.run('hash', script, keys, args)
  } catch (error) {
    if (!isUnknownScript(error)) throw error
    return transport.run('source', script, keys, args)
  }
}

/** A reply as text, also where the caller's client is set up to answer with buffers. */
export function textOf(reply: unknown): string {
  if (typeof reply === 'string') return reply
  if (Buffer.isBuffer(reply)) return reply.toString()
  if (typeof reply === 'number' || typeof reply === 'bigint') return String(reply)
  throw new TypeError(`a script answered with ${reply === null ? 'nothing' : typeof reply}, not with text`)
}
