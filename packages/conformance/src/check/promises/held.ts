/**
 * `held` is true only while the lease lasts. It is false from the latest known deadline on, after
 * the release, and after a reported loss. So a holder that wakes from a pause learns of the loss
 * when it first reads `held`.
 *
 * The history must contain every renewal that succeeded: without one of them a lease that lasts
 * seems to have ended.
 */
import { byKey, describe, type Hold } from '../hold.js'
import { MOST_VIOLATIONS, piece, type Violation } from '../violation.js'

/** Returns each reading of `held` that was true after the end of the lease. */
export function checkHeld(holds: readonly Hold[]): Violation[] {
  return [...byKey(holds).values()].flatMap((its) => its.flatMap(judge).slice(0, MOST_VIOLATIONS))
}

function judge(hold: Hold): Violation[] {
  const { key, overdue } = hold
  if (!overdue) return []
  const message = `"${key}" was reported as held at ${overdue.t_ns} ns, though the lease had ended for ${describe(hold)}.`
  return [
    {
      property: 'held',
      key,
      message,
      events: piece(hold, { trail: { event: overdue, before: undefined } }),
    },
  ]
}
