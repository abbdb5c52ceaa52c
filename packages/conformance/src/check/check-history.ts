/** Checks a history for every promise that the caller names. */
import type { HistoryEvent } from '../history/index.js'
import { checkCounter } from './promises/counter.js'
import { checkExclusion } from './promises/exclusion.js'
import { checkFifo, type FifoOptions } from './promises/fifo.js'
import { checkHeld } from './promises/held.js'
import { checkLiveness, type LivenessOptions } from './promises/liveness.js'
import { checkRelease } from './promises/release.js'
import { storyOf } from './story.js'
import { checkTokens } from './promises/tokens.js'
import { checkTruth, type TruthOptions } from './promises/truth.js'
import type { Violation } from './violation.js'

/** What the lock promised in the run that wrote the history. */
export interface Promised {
  /** The holders never weigh more than the capacity. Default: true. */
  readonly exclusion?: boolean
  /**
   * Tokens are unique and grow in the order of grants. Leases without a token are ignored. Default:
   * true.
   */
  readonly tokens?: boolean
  /** `held` is never true after the lease ended. Needs every renewal in the history. */
  readonly held?: boolean
  /**
   * A holder that trusts its lease holds the lock in the server. Needs the server's truth in the
   * history.
   */
  readonly truth?: boolean | TruthOptions
  /**
   * A release answers `released` only if the server still held the lock. Finds more with the
   * server's truth in the history.
   */
  readonly release?: boolean | TruthOptions
  /** Waiters are overtaken a limited number of times. Needs `enqueued` in the history. */
  readonly fifo?: boolean | FifoOptions
  /** After the last fault every live waiter is granted or ends. */
  readonly liveness?: LivenessOptions
  /** The fenced counter loses no increment. Needs writes in the history; reads find more. */
  readonly counter?: boolean
}

/** What the history's run promised, and how much slack its measurements have. */
export interface CheckOptions {
  readonly promised?: Promised | undefined
}

/**
 * Returns every violation of a promise, at most a hundred for each lock and kind. An empty list
 * means that this history keeps the promises, not that the lock always does.
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
  const story = storyOf(history)
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
