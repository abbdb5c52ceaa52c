/**
 * Fencing tokens: none is given twice, and they grow in real time.
 *
 * If one grant was reported before another was asked for, then its token is smaller. Grants that were asked for side by
 * side may come in either order.
 */
import { byKey, type Hold, type Violation } from './holds.js'

type Fenced = Hold & { readonly token: bigint }

export function checkTokens(holds: readonly Hold[]): Violation[] {
  const found: Violation[] = []
  for (const [key, all] of byKey(holds)) {
    const its = all.filter((hold): hold is Fenced => hold.token !== undefined)
    found.push(...repeated(key, its), ...disordered(key, its))
  }
  return found
}

function repeated(key: string, holds: readonly Fenced[]): Violation[] {
  const found: Violation[] = []
  const seen = new Map<bigint, Fenced>()
  for (const hold of holds) {
    const before = seen.get(hold.token)
    if (!before) {
      seen.set(hold.token, hold)
      continue
    }
    const message = `"${key}" gave the token ${hold.token} to ${before.client} and to ${hold.client}.`
    found.push({ property: 'token-unique', key, message })
  }
  return found
}

/** Goes through the requests in the order of time with the largest token that had been reported by then. */
function disordered(key: string, holds: readonly Fenced[]): Violation[] {
  const found: Violation[] = []
  const byInvoke = [...holds].sort((a, b) => (a.invokedNs < b.invokedNs ? -1 : 1))
  const byStart = [...holds].sort((a, b) => (a.startNs < b.startNs ? -1 : 1))
  let largest: Fenced | undefined
  let next = 0
  for (const hold of byInvoke) {
    for (let told = byStart[next]; told && told.startNs < hold.invokedNs; told = byStart[next]) {
      if (!largest || told.token > largest.token) largest = told
      next += 1
    }
    if (!largest || hold.token > largest.token) continue
    const message =
      `"${key}" gave ${hold.client} the token ${hold.token}, ` +
      `though ${largest.client} had been given ${largest.token} before that was asked for.`
    found.push({ property: 'token-order', key, message })
  }
  return found
}
