/**
 * Owners as a store kept them. Any client with write access may have written anything instead.
 */
import type { Owner, ProcessGroup, WaitNote } from './contract.js'

/** Replaces an unreadable owner, so that `inspect` shows its claim beside the others. */
export const UNREADABLE_OWNER: Owner = { clientId: 'unreadable', host: 'unreadable', pid: 0 }

/** Returns an owner whose fields have their types: the same object, or `UNREADABLE_OWNER`. */
export function readOwner(value: unknown): Owner {
  return isOwner(value) ? value : UNREADABLE_OWNER
}

/** Returns an owner from JSON, or `UNREADABLE_OWNER`. */
export function parseOwner(text: unknown): Owner {
  return readOwner(parseJson(text))
}

/** Returns a text from JSON. Undefined for anything else. */
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
  const owner = value as Partial<Record<keyof Owner, unknown>>
  return isProcess(owner) && isNote(owner)
}

function isProcess({ clientId, host, pid }: Partial<Record<keyof Owner, unknown>>): boolean {
  return typeof clientId === 'string' && typeof host === 'string' && typeof pid === 'number'
}

/** Returns whether what an owner may have is of the right types. */
function isNote(owner: Partial<Record<keyof Owner, unknown>>): boolean {
  const { label, group, election, localWaiters, waitsFor } = owner
  return (
    (label === undefined || typeof label === 'string') &&
    (group === undefined || isGroup(group)) &&
    (election === undefined || election === true) &&
    (localWaiters === undefined || typeof localWaiters === 'number') &&
    (waitsFor === undefined || (Array.isArray(waitsFor) && waitsFor.every(isWaitNote)))
  )
}

function isGroup(value: unknown): value is ProcessGroup {
  if (typeof value !== 'object' || value === null) return false
  const { pgid, startTime } = value as Partial<Record<keyof ProcessGroup, unknown>>
  return typeof pgid === 'number' && typeof startTime === 'string'
}

function isWaitNote(value: unknown): value is WaitNote {
  if (typeof value !== 'object' || value === null) return false
  const { id, lock, weight, claimId, clientId, sinceMs, cycle } = value as Partial<
    Record<keyof WaitNote, unknown>
  >
  return (
    [id, lock].every((text) => typeof text === 'string') &&
    [weight, sinceMs].every((number) => typeof number === 'number') &&
    [claimId, clientId, cycle].every((text) => text === undefined || typeof text === 'string')
  )
}
