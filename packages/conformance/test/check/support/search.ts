/**
 * An exhaustive search for an order of grants and releases that explains a history. It follows Wing
 * and Gong, "Testing and verifying concurrent objects" (1993): each operation takes effect at one
 * moment between its request and its answer.
 *
 * The set of operations that took effect determines the state of the lock, so each set is searched
 * once (Lowe, "Testing for linearizability", 2017).
 */

export interface SmallHold {
  readonly weight: number
  readonly token: number
  /** Request and answer of the grant, then of the release. */
  readonly times: readonly [asked: number, granted: number, released: number, answered: number]
}

export interface Lock {
  readonly capacity: number
  /** Whether holders must fit the capacity. */
  readonly excludes: boolean
  /** Whether each grant must have a larger token than all before. */
  readonly fenced: boolean
}

interface Operation {
  readonly hold: SmallHold
  readonly grants: boolean
  readonly from: number
  readonly to: number
}

export function isExplained(holds: readonly SmallHold[], lock: Lock): boolean {
  const operations = holds.flatMap((hold): Operation[] => [
    { hold, grants: true, from: hold.times[0], to: hold.times[1] },
    { hold, grants: false, from: hold.times[2], to: hold.times[3] },
  ])
  return search(operations, lock, 0, new Set())
}

function search(
  operations: readonly Operation[],
  lock: Lock,
  done: number,
  seen: Set<number>,
): boolean {
  if (done === 2 ** operations.length - 1) return true
  if (seen.has(done)) return false
  seen.add(done)
  const left = operations.filter((_, at) => (done & (1 << at)) === 0)
  const soonest = Math.min(...left.map(({ to }) => to))
  return operations.some((operation, at) => {
    const bit = 1 << at
    // No operation takes effect after an answer that came before its request.
    if ((done & bit) !== 0 || operation.from > soonest) return false
    return (
      isAllowed(operations, operation, lock, done) && search(operations, lock, done | bit, seen)
    )
  })
}

function isAllowed(
  all: readonly Operation[],
  operation: Operation,
  lock: Lock,
  done: number,
): boolean {
  if (!operation.grants) return true
  const { weight, token } = operation.hold
  let held = 0
  let largest = -1
  for (const [at, { hold, grants }] of all.entries()) {
    if ((done & (1 << at)) === 0) continue
    held += grants ? hold.weight : -hold.weight
    if (grants) largest = Math.max(largest, hold.token)
  }
  return (!lock.excludes || held + weight <= lock.capacity) && (!lock.fenced || token > largest)
}
