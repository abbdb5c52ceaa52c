/** What the server itself held, for whom, and from when to when. */
import type { HistoryEvent } from '../history/index.js'
import { byKey, NEVER, type Hold } from './hold.js'
import { compare, type Trail } from './violation.js'

/** What the server held for one claim without a gap. */
export interface Tenure {
  readonly key: string
  readonly owner: string
  readonly token: bigint | undefined
  /** How many tokens the grant reserved. */
  readonly tokens: number
  readonly startNs: bigint
  readonly endNs: bigint
  readonly trail: Trail
}

/** Finds what the server held of one lock for a hold. */
export class Truth {
  readonly #byToken: Tenure[]
  readonly #byOwner = new Map<string, Tenure[]>()

  constructor(tenures: readonly Tenure[]) {
    this.#byToken = tenures.filter(({ token }) => token !== undefined)
    this.#byToken.sort(
      (a, b) => compare(a.token as bigint, b.token as bigint) || compare(a.startNs, b.startNs),
    )
    for (const tenure of tenures) {
      const its = this.#byOwner.get(tenure.owner)
      if (its) its.push(tenure)
      else this.#byOwner.set(tenure.owner, [tenure])
    }
  }

  of({ token, claim }: Hold): readonly Tenure[] {
    if (token === undefined) return claim === undefined ? [] : (this.#byOwner.get(claim) ?? [])
    const found: Tenure[] = []
    for (let at = this.#lastUpTo(token); at >= 0; at -= 1) {
      const tenure = this.#byToken[at] as Tenure & { readonly token: bigint }
      if (token >= tenure.token + BigInt(tenure.tokens)) break
      if (claim === undefined || claim === tenure.owner) found.unshift(tenure)
    }
    return found
  }

  #lastUpTo(token: bigint): number {
    let [low, high] = [0, this.#byToken.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#byToken[middle]?.token as bigint) <= token) low = middle + 1
      else high = middle
    }
    return low - 1
  }
}

/** @param events all of them `truth` */
export function truthOf(events: readonly HistoryEvent[]): Map<string, Truth> {
  return new Map([...byKey(events)].map(([key, its]) => [key, new Truth(joined(its.map(tenure)))]))
}

/** Joins the parts that follow each other without a gap, as after a restart of the server with its data. */
function joined(parts: Tenure[]): Tenure[] {
  const result: Tenure[] = []
  const latest = new Map<string, number>()
  for (const part of parts.sort((a, b) => compare(a.startNs, b.startNs))) {
    const at = latest.get(part.owner)
    const before = at === undefined ? undefined : result[at]
    const goesOn = before?.token === part.token && before !== undefined && part.startNs <= before.endNs
    if (goesOn && at !== undefined) result[at] = join(before, part)
    else latest.set(part.owner, result.push(part) - 1)
  }
  return result
}

function tenure(event: HistoryEvent): Tenure {
  const { key, owner = '', token, tokens = 1, start_ns: startNs = 0n, end_ns: endNs = NEVER } = event
  return { key, owner, token, tokens, startNs, endNs, trail: { event, before: undefined } }
}

function join(before: Tenure, part: Tenure): Tenure {
  const endNs = part.endNs > before.endNs ? part.endNs : before.endNs
  return { ...before, endNs, trail: { event: part.trail.event, before: before.trail } }
}
