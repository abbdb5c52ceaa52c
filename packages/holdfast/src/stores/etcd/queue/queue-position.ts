/** What stands before an entry, as ranges of etcd. */
import type { Predecessor, QueuePosition } from '../../coordination/connection/service.js'
import { positionOf } from '../../coordination/queue/queue-rule.js'
import type { Keys } from '../keys.js'
import { op, type KeyValue, type RangeOptions } from '../wire/messages.js'
import { decodeValue } from '../wire/values.js'
import type { Claim } from '../../../store/contract.js'

type Weighed = Pick<Claim, 'capacity' | 'weight' | 'kind'>

/** How many operations `beforeOperations` takes at most. */
export const MOST_BEFORE = 2

/**
 * Reads as little as decides. For a writer and a mutex that is the last entry. For a reader it is
 * the last writer. If that writer was downgraded, it has held, and no writer before it can still
 * wait. For permits it is the oldest entries, as many as exceed the capacity in any case, and the
 * last one, which is worth watching.
 */
export function beforeOperations(
  keys: Keys,
  lock: string,
  claim: Weighed,
  number?: bigint,
): Buffer[] {
  const { key, end } = keys.rivals(lock, claim)
  const range: RangeOptions = {
    end,
    ...(number === undefined ? {} : { maxCreateRevision: number - 1n }),
  }
  const last = op.range(key, { ...range, sort: 'newest-first', limit: 1 })
  if (claim.kind !== 'semaphore' || claim.weight >= claim.capacity) return [last]
  return [last, op.range(key, { ...range, sort: 'oldest-first', limit: claim.capacity + 1 })]
}

/** Reads the answers to `beforeOperations`. */
export function positionFrom(
  claim: Weighed,
  [last = [], oldest = last]: readonly (readonly KeyValue[])[],
): Omit<QueuePosition, 'moment'> {
  const predecessors = asPredecessors(oldest)
  const [end] = asPredecessors(last)
  if (end && predecessors.at(-1)?.key !== end.key) predecessors.push(end)
  return positionOf(claim, predecessors)
}

function asPredecessors(found: readonly KeyValue[]): Predecessor[] {
  return found.map(({ key, value }) => ({
    key,
    weight: decodeValue(value)?.data.weight ?? Infinity,
  }))
}
