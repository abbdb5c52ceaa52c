/**
 * What an entry of a queue says of itself, as JSON that people may read in the service's own tools.
 */
import { newerFormat } from '../../store/errors.js'
import type { Claim, LockKind, Owner } from '../../store/contract.js'
import { readOwner } from '../../store/owner.js'

/**
 * The format of entries. Fields are added without a new number as long as older versions may ignore
 * them. A version keeps the fields that it does not know.
 */
export const ENTRY_FORMAT = 1

export interface EntryData {
  readonly format: number
  readonly kind: LockKind
  readonly capacity: number
  /** What it weighs now: a writer that was downgraded weighs 1. */
  readonly weight: number
  readonly ttlMs: number
  readonly owner: Owner
  /**
   * When it was made and when it was granted, by its owner's wall clock. Shown, and never used to
   * decide.
   */
  readonly sinceMs: number
  readonly grantedMs?: number
  /** It was stolen: it is not renewed any more. */
  readonly stolen?: boolean
  readonly stealReason?: string
  /** Exported: it stands on a session of its own, and no client holds it. */
  readonly detached?: true | undefined
  /** The number of tokens that a grant of it has, where more than one: see `firstTokenOf`. */
  readonly tokens?: number | undefined
  /** Which token of its block it has, once it was exported: 0 is the first. */
  readonly tokenOffset?: number | undefined
}

/**
 * Tokens are the service's numbers, shifted left. The low bits number the hand-offs inside one
 * process: a block of tokens costs the service nothing, and blocks never overlap.
 */
const TOKEN_BITS = 8n
export const LARGEST_BLOCK = 2 ** Number(TOKEN_BITS)

export function tokenOf(entryNumber: bigint): bigint {
  return entryNumber << TOKEN_BITS
}

/**
 * Returns the first token of a grant. An entry that was never exported begins with the first token
 * of its block. Each adoption takes the next one, so that claims behind it have larger ones.
 */
export function firstTokenOf(entryNumber: bigint, { tokenOffset = 0 }: EntryData): bigint {
  return tokenOf(entryNumber) + BigInt(tokenOffset)
}

export function newEntryData(claim: Claim, wallMs: number, tokens = 1): EntryData {
  const { kind, capacity, weight, ttlMs, owner } = claim
  const sinceMs = Math.round(wallMs)
  const data = { format: ENTRY_FORMAT, kind, capacity, weight, ttlMs, owner, sinceMs }
  return tokens === 1 ? data : { ...data, tokens }
}

export function encodeEntry(data: EntryData): string {
  return JSON.stringify(data)
}

/**
 * Undefined for what no Holdfast wrote.
 * @throws StoreUnavailableError (`STORE_FORMAT`) for an entry of a newer format.
 */
export function decodeEntry(text: string): EntryData | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const data = value as Partial<EntryData> | null
  const format = data?.format
  if (typeof format === 'number' && format !== ENTRY_FORMAT) {
    throw newerFormat('An entry in the queue', {
      found: `format ${format}`,
      known: ENTRY_FORMAT,
    })
  }
  const sound =
    typeof data === 'object' &&
    data !== null &&
    format === ENTRY_FORMAT &&
    typeof data.kind === 'string' &&
    typeof data.capacity === 'number' &&
    typeof data.weight === 'number' &&
    typeof data.ttlMs === 'number' &&
    typeof data.sinceMs === 'number'
  return sound ? { ...(data as EntryData), owner: readOwner(data.owner) } : undefined
}

/** Whether two owners look the same to people. */
export function sameOwner(one: Owner, other: Owner): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other)
}
