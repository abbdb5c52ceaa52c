/**
 * Owners as a store kept them. Whoever may write to the store may have written anything in their
 * place.
 */
import type { Owner, ProcessGroup } from './contract.js'

/** Stands for an owner that nobody can read, so that its claim is shown beside all others. */
export const UNREADABLE_OWNER: Owner = { clientId: 'unreadable', host: 'unreadable', pid: 0 }

/** Returns an owner whose fields have their types: the same object, or `UNREADABLE_OWNER`. */
export function readOwner(value: unknown): Owner {
  return isOwner(value) ? value : UNREADABLE_OWNER
}

/** Likewise, from JSON. */
export function parseOwner(text: unknown): Owner {
  return readOwner(parseJson(text))
}

/** Returns the text that was kept as JSON. Undefined for anything else. */
export function parseText(json: unknown): string | undefined {
  const value = parseJson(json)
  return typeof value === 'string' ? value : undefined
}

function parseJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return undefined
  }
}

function isOwner(value: unknown): value is Owner {
  if (typeof value !== 'object' || value === null) return false
  const { clientId, host, pid, label, group, localWaiters } = value as Partial<
    Record<keyof Owner, unknown>
  >
  return (
    typeof clientId === 'string' &&
    typeof host === 'string' &&
    typeof pid === 'number' &&
    (label === undefined || typeof label === 'string') &&
    (group === undefined || isGroup(group)) &&
    (localWaiters === undefined || typeof localWaiters === 'number')
  )
}

function isGroup(value: unknown): value is ProcessGroup {
  if (typeof value !== 'object' || value === null) return false
  const { pgid, startTime } = value as Partial<Record<keyof ProcessGroup, unknown>>
  return typeof pgid === 'number' && typeof startTime === 'string'
}
