/** What the server itself held: for which claim, and from when to when. */
import type { HistoryEvent } from '../history/index.js'
import { byKey, NEVER, type Hold } from './hold.js'
import { compare, type Trail } from './violation.js'

/** A time in which the server held the lock for one claim without a gap. */
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

type Fenced = Tenure & { readonly token: bigint }

/** What the server held of one lock. */
export class Truth {
  readonly #byToken: readonly Fenced[]
  readonly #byOwner = new Map<string, Tenure[]>()
  readonly #parts: readonly Tenure[]

  constructor(parts: readonly Tenure[]) {
    this.#parts = parts
    const fenced = parts.filter((part): part is Fenced => part.token !== undefined)
    this.#byToken = joined(
      fenced.sort((a, b) => compare(a.token, b.token) || compare(a.startNs, b.startNs)),
    )
    const plain = parts.filter(({ token }) => token === undefined)
    for (const part of plain.sort((a, b) => compare(a.startNs, b.startNs))) {
      this.#byOwner.set(part.owner, joined([...(this.#byOwner.get(part.owner) ?? []), part]))
    }
  }

  of({ token, claim }: Hold): readonly Tenure[] {
    if (token === undefined) return claim === undefined ? [] : (this.#byOwner.get(claim) ?? [])
    const found: Tenure[] = []
    for (let at = this.#lastUpTo(token); at >= 0; at -= 1) {
      const tenure = this.#byToken[at] as Fenced
      if (token >= tenure.token + BigInt(tenure.tokens)) break
      if (claim === undefined || claim === tenure.owner) found.unshift(tenure)
    }
    return found
  }

  /** Returns the tenure at a time, if the server granted the claim again after an earlier one. */
  again(claim: string | undefined, after: Tenure, atNs: bigint): Tenure | undefined {
    return this.#parts.find(
      ({ owner, startNs, endNs }) =>
        owner === claim && startNs >= after.endNs && startNs <= atNs && atNs <= endNs,
    )
  }

  /** Whether the server held the lock for another claim at some moment between two times. */
  heldForAnother(claim: string | undefined, fromNs: bigint, toNs: bigint): boolean {
    return this.#parts.some(
      ({ owner, startNs, endNs }) => owner !== claim && startNs < toNs && endNs > fromNs,
    )
  }

  #lastUpTo(token: bigint): number {
    let [low, high] = [0, this.#byToken.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#byToken[middle] as Fenced).token <= token) low = middle + 1
      else high = middle
    }
    return low - 1
  }
}

/** @param events all of them `truth` */
export function truthOf(events: readonly HistoryEvent[]): Map<string, Truth> {
  return new Map([...byKey(events)].map(([key, its]) => [key, new Truth(its.map(tenure))]))
}

/** Joins tenures of one claim without a gap between them, as after a restart with kept data. */
function joined<Part extends Tenure>(parts: readonly Part[]): Part[] {
  const result: Part[] = []
  for (const part of parts) {
    const before = result.at(-1)
    const isSame = before?.token === part.token && before?.owner === part.owner
    if (before && isSame && part.startNs <= before.endNs)
      result[result.length - 1] = join(before, part)
    else result.push(part)
  }
  return result
}

function tenure(event: HistoryEvent): Tenure {
  const {
    key,
    owner = '',
    token,
    tokens = 1,
    start_ns: startNs = 0n,
    end_ns: endNs = NEVER,
  } = event
  return { key, owner, token, tokens, startNs, endNs, trail: { event, before: undefined } }
}

function join<Part extends Tenure>(before: Part, part: Part): Part {
  const endNs = part.endNs > before.endNs ? part.endNs : before.endNs
  return { ...before, endNs, trail: { event: part.trail.event, before: before.trail } }
}
