/** Judges a history: every checker, one list of what is wrong. */
import type { HistoryEvent } from '../history.js'
import { checkExclusion } from './exclusion.js'
import { holdsOf, type Violation } from './holds.js'
import { checkTokens } from './tokens.js'

export { checkExclusion } from './exclusion.js'
export { holdsOf, type Hold, type Violation } from './holds.js'
export { checkTokens } from './tokens.js'

export function checkHistory(events: readonly HistoryEvent[]): Violation[] {
  const holds = holdsOf(events)
  return [...checkExclusion(holds), ...checkTokens(holds)]
}
