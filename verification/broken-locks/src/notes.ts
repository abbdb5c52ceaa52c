/** What one lock writes into the history. */
import type { HistoryAction, HistoryType } from '@holdfast/conformance'
import type { ControlSettings } from './contract.js'

export interface Note {
  readonly token?: bigint | undefined
  /** How long the holder believes from now; Infinity, or nothing, if it knows no end. */
  readonly remainingMs?: number
}

/**
 * A lock that knows no deadline leaves it out: by the checkers' rule it then believes until an
 * event says otherwise.
 */
export function note(
  { history, lock }: ControlSettings,
  f: HistoryAction,
  type: HistoryType,
  { token, remainingMs = Infinity }: Note = {},
): void {
  history?.note({
    key: lock,
    f,
    type,
    mode: 'exclusive',
    weight: 1,
    capacity: 1,
    ...(token === undefined ? {} : { token }),
    ...(remainingMs === Infinity ? {} : { deadline_ns: history.deadlineNs(() => remainingMs) }),
  })
}
