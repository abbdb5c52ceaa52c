/**
 * Liveness after healing: once nothing is broken any more, every waiter that lives is granted the
 * lock, or its wait ends, within a bound.
 *
 * The run must keep to its part: from the time of healing on no faults, short holds, and no more
 * arrivals than the bound has room for.
 */
import type { Hold, Wait } from './hold.js'
import type { Story } from './story.js'
import { milliseconds, MOST_VIOLATIONS, piece, type Violation } from './violation.js'

export interface LivenessOptions {
  /** From when on nothing is broken, on the clock of the history, in nanoseconds. */
  readonly healedNs: bigint
  /**
   * How long a wait may last from then on, or from its beginning if that is later, in nanoseconds.
   */
  readonly boundNs: bigint
  /**
   * Until when the run was watched, in nanoseconds: waits whose bound ends later are not judged.
   * Default: for ever.
   */
  readonly watchedNs?: bigint
}

export function checkLiveness(
  { holds, waits }: Story,
  { healedNs, boundNs, watchedNs }: LivenessOptions,
): Violation[] {
  const found: Violation[] = []
  const judge = (wish: Hold | Wait, settledNs: bigint | undefined): void => {
    const from = wish.invokedNs > healedNs ? wish.invokedNs : healedNs
    const limitNs = from + boundNs
    if (settledNs !== undefined && settledNs <= limitNs) return
    if (watchedNs !== undefined && watchedNs < limitNs) return
    if (found.length < MOST_VIOLATIONS) found.push(forgotten(wish, from, settledNs))
  }
  for (const hold of holds) judge(hold, hold.startNs)
  for (const wait of waits) judge(wait, wait.endNs)
  return found
}

function forgotten(wish: Hold | Wait, from: bigint, settledNs: bigint | undefined): Violation {
  const { key, client, pid } = wish
  const wait = settledNs === undefined ? 'to the end' : `for ${milliseconds(settledNs - from)}`
  const since = from === wish.invokedNs ? 'it was asked for' : 'everything was healed'
  const message = `"${key}" was waited for ${wait} by ${client} (pid ${pid}), counted from when ${since}.`
  return { property: 'liveness', key, message, events: piece(wish) }
}
