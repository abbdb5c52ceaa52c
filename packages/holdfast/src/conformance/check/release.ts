/**
 * Truthful release: the answer `released` is given only if the server still held the lock when it
 * was asked to release it.
 *
 * With the server's truth this is looked up: the lock must not have ended before the request left,
 * and where no neighbour can have been handed the lease, it must have ended by the time of the
 * answer. Without it the other holders are witnesses: whoever was granted the lock beside this
 * lease, and cannot have been, tells that it was over.
 */
import type { HistoryEvent } from '../history/index.js'
import { byKey, describe, firstAfter, type Hold, type Release } from './hold.js'
import type { Tenure, Truth } from './server-truth.js'
import type { Story } from './story.js'
import type { TruthOptions } from './truth.js'
import { milliseconds, MOST_VIOLATIONS, piece, type Violation } from './violation.js'

type Released = Hold & { readonly release: Release & { readonly answeredNs: bigint } }

export function checkRelease(story: Story, { slackNs = 0n }: TruthOptions = {}): Violation[] {
  const found: Violation[] = []
  for (const [key, its] of byKey(story.holds)) {
    const truth = story.truth.get(key)
    const released = its.filter((hold): hold is Released => hold.release?.answer === 'ok')
    const lies = truth ? byTruth(released, truth, slackNs) : byWitness(released, its)
    found.push(...lies.slice(0, MOST_VIOLATIONS))
  }
  return found
}

function byTruth(released: readonly Released[], truth: Truth, slackNs: bigint): Violation[] {
  return released.flatMap((hold) => {
    const tenures = truth.of(hold)
    const last = tenures.at(-1)
    const reason = last
      ? lieAgainst(last, hold, slackNs)
      : 'the server never held it for this claim'
    if (reason === undefined) return []
    return [lie(hold, reason, piece(hold, ...tenures))]
  })
}

function lieAgainst(
  { endNs, tokens }: Tenure,
  { release }: Released,
  slackNs: bigint,
): string | undefined {
  if (endNs + slackNs < release.askedNs) {
    return `the server had ended it ${milliseconds(release.askedNs - endNs)} before it was asked`
  }
  // A grant that reserved several tokens may have gone to a neighbour, for whom the server holds it
  // on.
  if (tokens === 1 && endNs > release.answeredNs + slackNs)
    return 'the server held it on after the answer'
  return undefined
}

/**
 * Looks for a holder that came in before a lease was given back and cannot have been there beside
 * it.
 */
function byWitness(released: readonly Released[], byStart: readonly Hold[]): Violation[] {
  // A grant that was over when it was told of may have been one of earlier times, so it is no
  // witness. Where there are tokens, they say which of two was earlier: news of a grant may come
  // later than the next one's, if the server forgot.
  const all = byStart.filter(({ startNs, endNs }) => endNs > startNs)
  const exclusive = all.filter(({ weight, capacity }) => weight >= capacity)
  return released.flatMap((hold) => {
    const sharesNothing = hold.weight >= hold.capacity && !hold.lowered
    const witness = firstAfter(sharesNothing ? all : exclusive, hold.startNs)
    if (!witness || witness.startNs >= hold.release.askedNs || isEarlier(witness, hold)) return []
    return [lie(hold, `${describe(witness)} had got it before`, piece(hold, witness))]
  })
}

function isEarlier({ token }: Hold, hold: Hold): boolean {
  return token !== undefined && hold.token !== undefined && token < hold.token
}

function lie(hold: Released, reason: string, events: readonly HistoryEvent[]): Violation {
  const message = `"${hold.key}" was answered to be released by ${describe(hold)}, but ${reason}.`
  return { property: 'release', key: hold.key, message, events }
}
