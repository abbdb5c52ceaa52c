/**
 * Liveness: after the last fault every live waiter is granted, or its wait ends, within a bound.
 *
 * The run must allow that: after the last fault it has short holds, and no more new requests than
 * fit the bound.
 */
import type { Hold, Wait } from '../hold.js'
import type { Story } from '../story.js'
import { milliseconds, MOST_VIOLATIONS, piece, type Violation } from '../violation.js'

/** From when on, and within which bound, each waiter has to be served. */
export interface LivenessOptions {
  /** When the last fault ended, on the clock of the history, in nanoseconds. */
  readonly healedNs: bigint
  /** How long a wait may last after that, or after its beginning if later, in nanoseconds. */
  readonly boundNs: bigint
  /**
   * When the run stopped recording, in nanoseconds. Waits whose bound ends later are not checked.
   * Default: never.
   */
  readonly watchedNs?: bigint | undefined
}

/** Returns each waiter that was not served within the bound after healing. */
export function checkLiveness(
  { holds, waits }: Story,
  { healedNs, boundNs, watchedNs }: LivenessOptions,
): Violation[] {
  const found: Violation[] = []
  const judge = (wish: Hold | Wait, servedNs: bigint | undefined): void => {
    const from = wish.invokedNs > healedNs ? wish.invokedNs : healedNs
    const limitNs = from + boundNs
    if (servedNs !== undefined && servedNs <= limitNs) return
    if (watchedNs !== undefined && watchedNs < limitNs) return
    if (found.length < MOST_VIOLATIONS) found.push(forgotten(wish, from, servedNs))
  }
  for (const hold of holds) judge(hold, hold.startNs)
  for (const wait of waits) judge(wait, wait.endNs)
  return found
}

function forgotten(wish: Hold | Wait, from: bigint, servedNs: bigint | undefined): Violation {
  const { key, client, pid } = wish
  const wait = servedNs === undefined ? 'to the end' : `for ${milliseconds(servedNs - from)}`
  const since = from === wish.invokedNs ? 'it was asked for' : 'everything was healed'
  const message = `"${key}" was waited for ${wait} by ${client} (pid ${pid}), counted from when ${since}.`
  return { property: 'liveness', key, message, events: piece(wish) }
}
