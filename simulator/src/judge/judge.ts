/** Judges a run by what was promised under its faults. */
import { checkHistory, type HistoryEvent } from 'holdfast/conformance'
import type { Case } from '../case.js'
import type { Outcome } from '../run.js'
import type { Breach } from '../workload/circumstances.js'
import { promisesOf } from './promises.js'

export interface Finding extends Breach {
  /** The piece of the history that shows it, where there is one. */
  readonly events?: readonly HistoryEvent[]
}

export function judge(plan: Case, outcome: Outcome): Finding[] {
  const { exclusion, tokens } = promisesOf(plan)
  return [
    ...checkHistory(outcome.events, { promised: { exclusion, tokens } }),
    ...lostIncrements(outcome, exclusion || tokens),
    ...forgotten(outcome),
    ...outcome.breaches,
  ]
}

/** End to end: every write that was acknowledged is still there. */
function lostIncrements({ counters }: Outcome, promised: boolean): Finding[] {
  if (!promised) return []
  return [...counters]
    .filter(([, { value, acknowledged }]) => value !== acknowledged)
    .map(([key, { value, acknowledged }]) => ({
      property: 'counter',
      key,
      message: `"${key}" counted ${value}, though ${acknowledged} increments were acknowledged.`,
    }))
}

function forgotten({ stuck, drainedMs }: Outcome): Finding[] {
  return stuck.map(({ actor, lock }) => ({
    property: 'liveness',
    key: lock,
    message: `${actor} still waited for "${lock}" ${drainedMs.toFixed(0)} ms after everything was healed.`,
  }))
}
