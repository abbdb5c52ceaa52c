/**
 * Claim within server truth: whoever believes to hold a lock does hold it in the server, from the first moment to the
 * last.
 *
 * Per token, or per claim where there are no tokens. It finds more than overlap alone: a holder that believes on after
 * its lease ended in the server breaks this promise also when nobody else comes.
 */
import type { HistoryEvent } from '../history/index.js'
import { byKey, describe, NEVER, type Hold } from './hold.js'
import { compare, milliseconds, MOST_VIOLATIONS, type Violation } from './violation.js'

/** What the server held for one claim without a gap. */
export interface Tenure {
  readonly key: string
  readonly owner: string
  readonly token: bigint | undefined
  /** How many tokens the grant reserved. */
  readonly tokens: number
  readonly startNs: bigint
  readonly endNs: bigint
  readonly events: readonly HistoryEvent[]
}

export interface TruthOptions {
  /** How far the server's times may be off, in nanoseconds; 0 where they are of the same clock. */
  readonly slackNs?: bigint
}

/** @param events with the server's `truth` among them */
export function checkTruth(
  holds: readonly Hold[],
  events: readonly HistoryEvent[],
  { slackNs = 0n }: TruthOptions = {},
): Violation[] {
  const found: Violation[] = []
  const tenures = byKey(tenuresOf(events))
  for (const [key, its] of byKey(holds)) {
    const truth = new Truth(tenures.get(key) ?? [])
    let violations = 0
    for (const hold of its) {
      if (hold.endNs <= hold.startNs) continue
      const violation = judge(hold, truth.of(hold), slackNs)
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
  return { property: 'truth', key: hold.key, message, events: hold.events }
}

function beyond(hold: Hold, tenures: readonly Tenure[]): Violation {
  const { endNs } = tenures.at(-1) as Tenure
  let when = 'at times at which the server did not hold it for this claim'
  if (hold.endNs === NEVER) when = `though the server ended that at ${endNs} ns`
  else if (hold.endNs > endNs) when = `${milliseconds(hold.endNs - endNs)} longer than the server held it`
  return {
    property: 'truth',
    key: hold.key,
    message: `"${hold.key}" was believed to be held by ${describe(hold)}, ${when}.`,
    events: [...hold.events, ...tenures.flatMap(({ events }) => events)],
  }
}

/** Finds what the server held for a hold. */
export class Truth {
  readonly #byToken: Tenure[]
  readonly #byOwner = new Map<string, Tenure[]>()

  /** @param tenures of one lock */
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

/** What the server held, with parts joined that follow each other without a gap, as after a restart with its data. */
export function tenuresOf(events: readonly HistoryEvent[]): Tenure[] {
  const parts = events.filter(({ f }) => f === 'truth').map(tenure)
  const joined: Tenure[] = []
  const latest = new Map<string, number>()
  for (const part of parts.sort((a, b) => compare(a.startNs, b.startNs))) {
    const name = JSON.stringify([part.key, part.owner, String(part.token)])
    const at = latest.get(name)
    const before = at === undefined ? undefined : joined[at]
    if (at !== undefined && before && part.startNs <= before.endNs) joined[at] = join(before, part)
    else latest.set(name, joined.push(part) - 1)
  }
  return joined
}

function tenure(event: HistoryEvent): Tenure {
  const { key, owner = '', token, tokens = 1, start_ns: startNs = 0n, end_ns: endNs = NEVER } = event
  return { key, owner, token, tokens, startNs, endNs, events: [event] }
}

function join(before: Tenure, part: Tenure): Tenure {
  const endNs = part.endNs > before.endNs ? part.endNs : before.endNs
  return { ...before, endNs, events: [...before.events, ...part.events] }
}
