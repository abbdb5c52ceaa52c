/** What stands under a key: the entry, and the id of its claim. */
import { decodeEntry, encodeEntry, type EntryData } from '../../coordination/wire.js'

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

/** Why a claim is no more. */
export interface Gone {
  /** It was stolen. Empty when no reason was given. */
  readonly stealReason?: string
  /** Its withdrawal has removed its entry. */
  readonly taken?: Pick<EntryData, 'detached'>
}

const STOLEN = 'stolen:'
const LEFT = 'withdrawn:left'
const RELEASED = 'withdrawn:released'

export function encodeGone({ stealReason, taken }: Gone): string {
  if (stealReason !== undefined) return `${STOLEN}${stealReason}`
  if (!taken) return 'withdrawn'
  return taken.detached === true ? RELEASED : LEFT
}

export function decodeGone(value: Buffer): Gone {
  const text = value.toString()
  if (text.startsWith(STOLEN)) return { stealReason: text.slice(STOLEN.length) }
  if (text === RELEASED) return { taken: { detached: true } }
  return text === LEFT ? { taken: {} } : {}
}
