/** What stands before an entry, as a range of etcd. */
import type { LookedAt, Place } from '../sequenced/port.js'
import { rivals } from './keys.js'
import { op, type KeyValue } from './messages.js'
import { decodeValue } from './values.js'

/** Reads as little as decides: the last entry for whoever wants everything, else all that weigh. */
export function beforeOperation(lock: string, claim: LookedAt['claim'], number?: bigint): Buffer {
  const { key, end } = rivals(lock, claim)
  const older = number === undefined ? {} : { maxCreateRevision: number - 1n }
  if (claim.weight >= claim.capacity) return op.range(key, { end, ...older, sort: 'newest-first', limit: 1 })
  return op.range(key, { end, ...older, sort: 'oldest-first' })
}

export function asPlaces(found: readonly KeyValue[]): Place[] {
  return found.map(({ key, value }) => ({ key, weight: decodeValue(value)?.data.weight ?? Infinity }))
}
