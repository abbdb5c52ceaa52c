/** Judges a history: every checker that is asked for, one list of what is wrong. */
import type { HistoryEvent } from '../history/index.js'
import { checkExclusion } from './exclusion.js'
import { tellStory } from './story.js'
import { checkTokens } from './tokens.js'
import type { Violation } from './violation.js'

/** What the lock promised in the run that the history is of. */
export interface Promised {
  /** At no moment do holders weigh more than the capacity. On where it is missing. */
  readonly exclusion?: boolean
  /** Tokens are unique and grow in the order of grants; leases without a token are passed over. On where it is missing. */
  readonly tokens?: boolean
}

export interface CheckOptions {
  readonly promised?: Promised
}

export function checkHistory(
  history: readonly HistoryEvent[],
  { promised = {} }: CheckOptions = {},
): Violation[] {
  const { exclusion = true, tokens = true } = promised
  const { holds } = tellStory(history)
  return [...(exclusion ? checkExclusion(holds) : []), ...(tokens ? checkTokens(holds) : [])]
}
