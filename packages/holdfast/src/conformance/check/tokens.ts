/**
 * Fencing tokens: none is given twice, and they grow in the order of the grants.
 *
 * - If one grant was reported before another was asked for, then its token is smaller.
 * - Grants that were asked for side by side may be reported in either order, but a holder whose
 *   token is smaller had the lock no later than anybody with a larger one was told of it. If the
 *   two exclude each other at that time, then no order of grants explains the tokens:
 *   `grant-order`.
 */
import { checkExclusion } from './exclusion.js'
import { byKey, type Hold } from './hold.js'
import { compare, MOST_VIOLATIONS, piece, type Violation } from './violation.js'

type Fenced = Hold & { readonly token: bigint }

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

/**
 * Goes through the requests in the order of time with the largest token that had been reported by
 * then.
 */
function disordered(byStart: readonly Fenced[]): Violation[] {
  const found: Violation[] = []
  const byInvoke = byStart.toSorted((a, b) => compare(a.invokedNs, b.invokedNs))
  let largest: Fenced | undefined
  let next = 0
  for (const hold of byInvoke) {
    for (let told = byStart[next]; told && told.startNs < hold.invokedNs; told = byStart[next]) {
      if (!largest || told.token > largest.token) largest = told
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
 * Moves the beginning of each hold to where a larger token was first told of, and looks for
 * exclusion again. Since nothing overtakes in a store's queue, that is true of stores whose token
 * is a place in the queue as well.
 */
function explained(byStart: readonly Fenced[], byToken: readonly Fenced[]): Violation[] {
  const moved = movedForward(byToken)
  // Overlaps that are there anyhow are none of the tokens' doing.
  if (!moved || checkExclusion(byStart).length > 0) return []
  return checkExclusion(moved)
    .filter(({ property }) => property === 'exclusion')
    .map((violation) => ({
      ...violation,
      property: 'grant-order',
      message: `The tokens contradict who held the lock when. As the order of grants they say: ${violation.message}`,
    }))
}

/** Gives `undefined` where nothing had to be moved. */
function movedForward(byToken: readonly Fenced[]): Fenced[] | undefined {
  const result: Fenced[] = []
  let moves = 0
  let toldNs: bigint | undefined
  for (const hold of byToken.toReversed()) {
    if (toldNs === undefined || hold.startNs < toldNs) toldNs = hold.startNs
    if (hold.endNs <= hold.startNs) continue
    if (toldNs < hold.startNs) moves += 1
    result.push(toldNs < hold.startNs ? { ...hold, startNs: toldNs } : hold)
  }
  return moves === 0 ? undefined : result.sort((a, b) => compare(a.startNs, b.startNs))
}
