/** The order of the table's rows. */
import type { KnownLock } from '../look/known-lock.js'
import type { Table } from '../view.js'

type Sort = Table['sort']

/** Smaller values come first. Locks with equal ones stay in the order of their names. */
const VALUES: Readonly<Record<Exclude<Sort, 'name'>, (known: KnownLock) => number>> = {
  wait: ({ waitingSinceMs }) => waitingSinceMs,
  held: ({ heldSinceMs }) => heldSinceMs,
  ttl: ({ endsMs }) => endsMs,
  waiters: ({ waiterCount }) => -waiterCount,
}

export const SORTS: readonly Sort[] = ['wait', 'name', 'held', 'ttl', 'waiters']

/** @param locks in the order of their names */
export function ordered(locks: readonly KnownLock[], sort: Sort): readonly KnownLock[] {
  if (sort === 'name') return locks
  const value = VALUES[sort]
  return locks
    .map((known) => ({ known, value: value(known) }))
    .sort((one, other) => (one.value < other.value ? -1 : one.value > other.value ? 1 : 0))
    .map(({ known }) => known)
}
