/** What stands under a key: the entry, and the id of its claim. */
import { decodeEntry, encodeEntry, type EntryData } from '../coordination/entry.js'

export function encodeValue(data: EntryData, id: string): string {
  return encodeEntry({ ...data, id } as EntryData)
}

/** Undefined for what no Holdfast wrote. */
export function decodeValue(value: Buffer): { data: EntryData; id: string } | undefined {
  const entry: (EntryData & { id?: unknown }) | undefined = decodeEntry(value.toString())
  if (typeof entry?.id !== 'string') return undefined
  const { id, ...data } = entry
  return { data, id }
}

/**
 * What stands under a claim that is no more: the reason of a thief, or nothing when it was
 * withdrawn.
 */
export function encodeGone(stealReason: string | undefined): string {
  return stealReason === undefined ? 'withdrawn' : `stolen:${stealReason}`
}

/** The reason of the steal. Undefined when the claim was withdrawn. */
export function decodeGone(text: string): string | undefined {
  return text.startsWith('stolen:') ? text.slice('stolen:'.length) : undefined
}
