/**
 * The grant rule where position is the grant.
 *
 * A claim holds when the weights of all entries before it, plus its own, fit the capacity. Nothing
 * overtakes, so the holders are always the beginning of the queue, and the same sum decides as in
 * `store/grant-rule.ts`. Entries only ever leave or get lighter, so a claim that may hold once may
 * hold from then on.
 */
import type { Claim } from '../../../store/contract.js'
import type { ListedEntry, Predecessor, QueuePosition } from '../connection/service.js'

type Weighed = Pick<Claim, 'capacity' | 'weight'>

/** Returns whether no other claim can hold beside it. */
export function wantsAll({ capacity, weight }: Weighed): boolean {
  return weight >= capacity
}

export function mayGo(claim: Weighed, { weight }: Pick<QueuePosition, 'weight'>): boolean {
  return weight + claim.weight <= claim.capacity
}

/**
 * Describes what stands before a claim. It lists as few predecessors to watch as can let the claim
 * in, so that a release wakes one waiter and not all.
 *
 * - A claim that wants everything can only go when nothing is before it: it watches the last
 *   predecessor, and looks again.
 * - The first waiter can go when any of the holders leaves: it watches all of them.
 * - A waiter behind it must learn that the waiter before it was granted, not only that it left. So
 *   granted waiters of a semaphore write that into their entry.
 *
 * @param before predecessors before the claim, the oldest first
 * @param weight the sum of their weights; may be too small where it exceeds the capacity in any
 * case
 */
export function positionOf(
  claim: Weighed,
  before: readonly Predecessor[],
  weight = weightOf(before),
): Omit<QueuePosition, 'moment'> {
  const last = before.at(-1)
  if (!last || (!wantsAll(claim) && weight <= claim.capacity)) return { before, weight }
  return { before: [last], weight }
}

/** Returns whether all the claims before it hold. */
export function everyoneHolds(
  { capacity }: Weighed,
  { weight }: Pick<QueuePosition, 'weight'>,
): boolean {
  return weight <= capacity
}

function weightOf(predecessors: readonly Predecessor[]): number {
  return predecessors.reduce((sum, { weight }) => sum + weight, 0)
}

/**
 * Whether the first entries of a queue are all of its holders, and all entries up to those of
 * `claims`.
 */
export function showsEnough(entries: readonly ListedEntry[], claims: readonly string[]): boolean {
  let weight = 0
  for (const { data } of entries) weight += data.weight
  const shown = new Set(entries.map(({ entry }) => entry.id))
  return weight >= (entries[0]?.data.capacity ?? Infinity) && claims.every((id) => shown.has(id))
}
