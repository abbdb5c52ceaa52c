/** The message that carries a pushed grant to the store of its holder: a line of JSON. */
import type { PushedGrant } from '../../store/contract.js'
import type { Holder } from '../../store/lock-state.js'

/** Returns the message for a new holder. */
export function encodeGrant({ id, token, tokens, ttlMs }: Holder): string {
  return JSON.stringify([id, String(token), tokens, ttlMs])
}

/**
 * Returns undefined for any other text: each user who may open the folder can write to a socket.
 */
export function parseGrant(text: string): (PushedGrant & { readonly id: string }) | undefined {
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Array.isArray(message)) return undefined
  const [id, token, tokens, ttlMs] = message as readonly unknown[]
  if (typeof id !== 'string' || typeof token !== 'string' || !/^\d{1,16}$/.test(token))
    return undefined
  if (!Number.isSafeInteger(tokens) || typeof ttlMs !== 'number' || !(ttlMs > 0)) return undefined
  return { id, token: BigInt(token), tokens: tokens as number, ttlMs }
}
