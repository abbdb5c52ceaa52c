/** Judges a history: every checker that is asked for, one list of what is wrong. */
import type { HistoryEvent } from '../history/index.js'
import { checkCounter } from './counter.js'
import { checkExclusion } from './exclusion.js'
import { checkFifo, type FifoOptions } from './fifo.js'
import { checkHeld } from './held.js'
import { checkLiveness, type LivenessOptions } from './liveness.js'
import { checkRelease } from './release.js'
import { tellStory } from './story.js'
import { checkTokens } from './tokens.js'
import { checkTruth, type TruthOptions } from './truth.js'
import type { Violation } from './violation.js'

/** What the lock promised in the run that the history is of. */
export interface Promised {
  /** At no moment do holders weigh more than the capacity. On where it is missing. */
  readonly exclusion?: boolean
  /**
   * Tokens are unique and grow in the order of grants; leases without one are passed over. On where
   * it is missing.
   */
  readonly tokens?: boolean
  /** Nobody sees `held` true when the lease is over. Needs every renewal in the history. */
  readonly held?: boolean
  /**
   * Whoever believes to hold does hold it in the server. Needs the server's truth in the history.
   */
  readonly truth?: boolean | TruthOptions
  /**
   * `released` is answered only if the server still held it. Finds more with the server's truth in
   * the history.
   */
  readonly release?: boolean | TruthOptions
  /** Waiters are overtaken so often at most. Needs `enqueued` in the history. */
  readonly fifo?: boolean | FifoOptions
  /** After healing every live waiter is granted or ends. */
  readonly liveness?: LivenessOptions
  /** The fenced counter loses no increment. Needs writes, and better also reads, in the history. */
  readonly counter?: boolean
}

export interface CheckOptions {
  readonly promised?: Promised
}

/**
 * Gives every violation of what was promised, at most a hundred of each lock and kind. An empty
 * list says that the history keeps the promises, not that the lock does.
 */
export function checkHistory(
  history: readonly HistoryEvent[],
  { promised = {} }: CheckOptions = {},
): Violation[] {
  const {
    exclusion = true,
    tokens = true,
    held,
    truth,
    release,
    fifo,
    liveness,
    counter,
  } = promised
  const story = tellStory(history)
  return [
    exclusion ? checkExclusion(story.holds) : [],
    tokens ? checkTokens(story.holds) : [],
    held ? checkHeld(story.holds) : [],
    truth ? checkTruth(story, optionsOf(truth)) : [],
    release ? checkRelease(story, optionsOf(release)) : [],
    fifo ? checkFifo(story, optionsOf(fifo)) : [],
    liveness ? checkLiveness(story, liveness) : [],
    counter ? checkCounter(story) : [],
  ].flat()
}

function optionsOf<Options>(promise: true | Options): Options | undefined {
  return promise === true ? undefined : promise
}
