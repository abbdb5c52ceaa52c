/** Reading an entry by its key, with the word that its claim is gone and what stands before it. */
import type { EntryQuery, EntryReading } from '../../coordination/connection/service.js'
import type { Keys } from '../keys.js'
import { op, type TxnAnswer } from '../wire/messages.js'
import { beforeOperations, MOST_BEFORE, positionFrom } from './queue-position.js'
import { decodeGone, decodeValue } from '../wire/values.js'

/** How many operations `readOperations` takes at most. */
export const OPERATIONS_A_READ = 2 + MOST_BEFORE

/** The entry itself, the word that it was stolen, and what stands before it. */
export function readOperations(keys: Keys, { entry, claim }: EntryQuery): Buffer[] {
  const before = claim ? beforeOperations(keys, entry.lock, claim, entry.number) : []
  return [op.range(entry.key), op.range(keys.goneKey(entry)), ...before]
}

export function readingFrom(
  { entry, claim }: EntryQuery,
  answers: TxnAnswer['answers'],
  moment: bigint,
): EntryReading {
  const [owns, words, ...before] = answers.map(({ found }) => found)
  const own = owns?.[0]
  const gone = words?.[0]
  const value = own?.createRevision === entry.number ? decodeValue(own.value) : undefined
  // Another claim may have adopted it: it keeps its key and its number.
  const data = value?.id === entry.id ? value.data : undefined
  if (own && data) {
    const position = claim ? positionFrom(claim, before) : { before: [], weight: 0 }
    return { state: 'present', data, version: own.modRevision, ...position, moment }
  }
  const { stealReason } = gone ? decodeGone(gone.value) : {}
  return { state: 'absent', ...(stealReason === undefined ? {} : { stealReason }) }
}
