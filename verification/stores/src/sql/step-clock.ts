/** Sets the clock of a database's server. */
import type { ServerClock } from '../faults/clock.js'
import type { Action } from '../faults/target.js'

export function clockSteps(
  clock: ServerClock | undefined,
): Partial<Record<'clock-forward' | 'clock-back', Action>> {
  if (!clock) return {}
  const step: Action = ({ byMs }) => {
    clock.step(byMs)
    return () => undefined
  }
  return { 'clock-forward': step, 'clock-back': step }
}

/** How long clients may take to connect again. */
export const RECONNECT_MS = 200
