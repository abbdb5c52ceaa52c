/**
 * Fencing tokens: no token is granted twice, and they grow in the order of the grants.
 *
 * - If one grant was reported before another was requested, its token is smaller.
 * - Grants that were requested at the same time may be reported in any order. But a holder with a
 *   smaller token was granted before any client learned of a larger token. If the two exclude each
 *   other at that time, no order of grants explains the tokens: `grant-order`.
 */
import { checkExclusion } from './exclusion.js'
import { byKey, type Hold } from '../hold.js'
import { compare, MOST_VIOLATIONS, piece, type Violation } from '../violation.js'

type Fenced = Hold & { readonly token: bigint }

/** Returns each lease whose token is not larger than that of an earlier lease. */
export function checkTokens(holds: readonly Hold[]): Violation[] {
  const found: Violation[] = []
  for (const all of byKey(holds).values()) {
    const its = all.filter((hold): hold is Fenced => hold.token !== undefined)
    const byToken = its.toSorted((a, b) => compare(a.token, b.token))
    const order = [...repeated(byToken), ...disordered(its)]
    found.push(...order, ...(order.length === 0 ? explained(its, byToken) : []))
  }
  return found
}

function repeated(byToken: readonly Fenced[]): Violation[] {
  const found: Violation[] = []
  let before: Fenced | undefined
  for (const hold of byToken) {
    const first = before
    before = hold
    if (first?.token !== hold.token) continue
    const message = `"${hold.key}" gave the token ${hold.token} to ${first.client} and to ${hold.client}.`
    found.push({ property: 'token-unique', key: hold.key, message, events: piece(first, hold) })
    if (found.length >= MOST_VIOLATIONS) break
  }
  return found
}

/** Finds grants with a token that is not larger than one reported before their request. */
function disordered(byStart: readonly Fenced[]): Violation[] {
  const found: Violation[] = []
  const byInvoke = byStart.toSorted((a, b) => compare(a.invokedNs, b.invokedNs))
  let largest: Fenced | undefined
  let next = 0
  for (const hold of byInvoke) {
    for (let seen = byStart[next]; seen && seen.startNs < hold.invokedNs; seen = byStart[next]) {
      if (!largest || seen.token > largest.token) largest = seen
      next += 1
    }
    if (!largest || hold.token > largest.token) continue
    const message =
      `"${hold.key}" gave ${hold.client} the token ${hold.token}, ` +
      `though ${largest.client} had been given ${largest.token} before that was asked for.`
    found.push({ property: 'token-order', key: hold.key, message, events: piece(largest, hold) })
    if (found.length >= MOST_VIOLATIONS) break
  }
  return found
}

/**
 * Moves the beginning of each hold to when a larger token was first reported, and checks exclusion
 * again. No claim overtakes in a store's queue, so this also holds for stores whose token is a
 * place in the queue.
 */
function explained(byStart: readonly Fenced[], byToken: readonly Fenced[]): Violation[] {
  const moved = movedForward(byToken)
  // Holds that overlap without the move say nothing about tokens.
  if (!moved || checkExclusion(byStart).length > 0) return []
  return checkExclusion(moved)
    .filter(({ property }) => property === 'exclusion')
    .map((violation) => ({
      ...violation,
      property: 'grant-order',
      message: `The tokens contradict who held the lock when. As the order of grants they say: ${violation.message}`,
    }))
}

/** Returns undefined when no hold had to be moved. */
function movedForward(byToken: readonly Fenced[]): Fenced[] | undefined {
  const result: Fenced[] = []
  let moves = 0
  let reportedNs: bigint | undefined
  for (const hold of byToken.toReversed()) {
    if (reportedNs === undefined || hold.startNs < reportedNs) reportedNs = hold.startNs
    if (hold.endNs <= hold.startNs) continue
    if (reportedNs < hold.startNs) moves += 1
    result.push(reportedNs < hold.startNs ? { ...hold, startNs: reportedNs } : hold)
  }
  return moves === 0 ? undefined : result.sort((a, b) => compare(a.startNs, b.startNs))
}
