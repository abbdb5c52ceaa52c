/**
 * Server truth: a client that trusts its lease holds the lock in the server, for the whole time.
 *
 * It is checked per token, or per claim without tokens. It finds more than overlaps: a holder that
 * trusts its lease after it ended in the server breaks this promise even without another holder.
 */
import { byKey, describe, NEVER, type Hold } from '../hold.js'
import type { Tenure } from '../server-holds.js'
import type { Story } from '../story.js'
import { milliseconds, MOST_VIOLATIONS, piece, type Violation } from '../violation.js'

/** How exact the observations of the server are. */
export interface TruthOptions {
  /** How far the server's clock may differ, in nanoseconds. Default: 0, for the same clock. */
  readonly slackNs?: bigint | undefined
}

/**
 * Returns each lease that its client trusted while the server held none for it.
 * @param story of a history with `truth` events: without them the server held no lock
 */
export function checkTruth(story: Story, { slackNs = 0n }: TruthOptions = {}): Violation[] {
  const found: Violation[] = []
  for (const [key, its] of byKey(story.holds)) {
    const truth = story.truth.get(key)
    let violations = 0
    for (const hold of its) {
      if (hold.endNs <= hold.startNs) continue
      const violation = judge(hold, truth?.of(hold) ?? [], slackNs)
      if (!violation) continue
      found.push(violation)
      violations += 1
      if (violations >= MOST_VIOLATIONS) break
    }
  }
  return found
}

function judge(hold: Hold, tenures: readonly Tenure[], slackNs: bigint): Violation | undefined {
  if (tenures.length === 0) return unknown(hold)
  const within = tenures.some(
    ({ startNs, endNs }) => startNs - slackNs <= hold.startNs && hold.endNs <= endNs + slackNs,
  )
  return within ? undefined : beyond(hold, tenures)
}

function unknown(hold: Hold): Violation {
  const message = `"${hold.key}" was held by ${describe(hold)}, but the server never held it for this claim.`
  return { property: 'truth', key: hold.key, message, events: piece(hold) }
}

function beyond(hold: Hold, tenures: readonly Tenure[]): Violation {
  const { endNs } = tenures.at(-1) as Tenure
  let when = 'at times at which the server did not hold it for this claim'
  if (hold.endNs === NEVER) when = `though the server ended that at ${endNs} ns`
  else if (hold.endNs > endNs)
    when = `${milliseconds(hold.endNs - endNs)} longer than the server held it`
  return {
    property: 'truth',
    key: hold.key,
    message: `"${hold.key}" was believed to be held by ${describe(hold)}, ${when}.`,
    events: piece(hold, ...tenures),
  }
}
