/**
 * The grant rule where position is the grant.
 *
 * A claim holds when the weights of all that stand before it, plus its own, fit the capacity. Nothing overtakes, so those who
 * hold are always a beginning of the queue, and the same sum decides as in `store/grant-rule.ts`. Entries only ever leave or
 * get lighter, so whoever may go once may go for good.
 */
import type { Claim } from '../../store/contract.js'
import type { Place } from './port.js'

type Weighed = Pick<Claim, 'capacity' | 'weight'>

/** Whether nobody can hold beside it. */
export function wantsAll({ capacity, weight }: Weighed): boolean {
  return weight >= capacity
}

export function mayGo(claim: Weighed, before: readonly Place[]): boolean {
  return weightOf(before) + claim.weight <= claim.capacity
}

/**
 * Which entries a waiter has to watch: as few as can let it in, so that a release wakes one waiter and not all.
 *
 * - Whoever wants everything can only go when nobody is before it, so it waits for the last one to go and looks again.
 * - The first that waits can go when any of the holders does.
 * - Those behind it must learn that the one before them was granted, not only that it left: granted waiters of a semaphore
 *   write that into their entry.
 */
export function worthWatching(claim: Weighed, before: readonly Place[]): readonly Place[] {
  const last = before.at(-1)
  if (!last || wantsAll(claim)) return last ? [last] : []
  return everyoneHolds(claim, before) ? before : [last]
}

export function everyoneHolds({ capacity }: Weighed, before: readonly Place[]): boolean {
  return weightOf(before) <= capacity
}

function weightOf(places: readonly Place[]): number {
  return places.reduce((sum, { weight }) => sum + weight, 0)
}
