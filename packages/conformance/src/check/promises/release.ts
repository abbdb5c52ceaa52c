/**
 * True releases: the answer is `released` only if the server still held the lock when the release
 * was sent.
 *
 * With the server's truth in the history this is exact: the server's hold must not have ended
 * before the request was sent. It must have ended by the answer, unless the lease can have been
 * handed on. Without the server's truth other holders are the evidence. A holder that was granted
 * before the release, and cannot hold beside this lease, shows that the lease had ended.
 */
import type { HistoryEvent } from '../../history/index.js'
import { byKey, describe, firstAfter, type Hold, type Release } from '../hold.js'
import type { Tenure, Truth } from '../server-holds.js'
import type { Story } from '../story.js'
import type { TruthOptions } from './truth.js'
import { milliseconds, MOST_VIOLATIONS, piece, type Violation } from '../violation.js'

type Released = Hold & { readonly release: Release & { readonly answeredNs: bigint } }

/** Returns each release whose answer contradicts what the server held. */
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
      ? lieAgainst(last, hold, truth, slackNs)
      : 'the server never held it for this claim'
    if (reason === undefined) return []
    return [lie(hold, reason, piece(hold, ...tenures))]
  })
}

function lieAgainst(
  last: Tenure,
  hold: Released,
  truth: Truth,
  slackNs: bigint,
): string | undefined {
  const { release } = hold
  const isOver = last.endNs + slackNs < release.askedNs
  const again = isOver ? grantedAgain(last, hold, truth) : undefined
  const { endNs, tokens } = again ?? last
  if (isOver && !again) {
    return `the server had ended it ${milliseconds(release.askedNs - endNs)} before it was asked`
  }
  // A grant with several tokens may have been handed on. Then the server keeps it.
  if (tokens === 1 && endNs > release.answeredNs + slackNs)
    return 'the server still held it after the answer'
  return undefined
}

/**
 * Finds the tenure that a release ends where the server forgot the grant and granted the same claim
 * again. A release names the claim and not the token. It does not count for a lease that shares
 * nothing, if another claim had the lock in between: the lease was lost then.
 */
function grantedAgain(last: Tenure, hold: Released, truth: Truth): Tenure | undefined {
  const { claim, release } = hold
  const again = truth.again(claim, last, release.askedNs)
  if (!again) return undefined
  const wasLost = sharesNothing(hold) && truth.heldForAnother(claim, last.endNs, again.startNs)
  return wasLost ? undefined : again
}

function sharesNothing({ weight, capacity, lowered }: Hold): boolean {
  return weight >= capacity && !lowered
}

/** Finds a holder that was granted before a lease was released and cannot hold beside it. */
function byWitness(released: readonly Released[], byStart: readonly Hold[]): Violation[] {
  // A grant that had ended when its client learned of it may be older than the lease, so it proves
  // nothing. Tokens say which of two grants was earlier: if the server forgot the first, its client
  // may learn of it after the second.
  const all = byStart.filter(({ startNs, endNs }) => endNs > startNs)
  const exclusive = all.filter(({ weight, capacity }) => weight >= capacity)
  return released.flatMap((hold) => {
    const witness = firstAfter(sharesNothing(hold) ? all : exclusive, hold.startNs)
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
