/**
 * `held` tells the truth: nobody sees it true at or after the last deadline that was known then,
 * nor after the lease was given back or told to be lost. So whoever wakes from a pause learns of
 * the loss at the first look.
 *
 * The history must have every renewal that succeeded, or a deadline is taken for the last one that
 * was not.
 */
import { byKey, describe, type Hold } from './hold.js'
import { MOST_VIOLATIONS, piece, type Violation } from './violation.js'

export function checkHeld(holds: readonly Hold[]): Violation[] {
  return [...byKey(holds).values()].flatMap((its) => its.flatMap(judge).slice(0, MOST_VIOLATIONS))
}

function judge(hold: Hold): Violation[] {
  const { key, overdue } = hold
  if (!overdue) return []
  const message = `"${key}" said to be held at ${overdue.t_ns} ns, though it was over for ${describe(hold)}.`
  return [
    {
      property: 'held',
      key,
      message,
      events: piece(hold, { trail: { event: overdue, before: undefined } }),
    },
  ]
}
