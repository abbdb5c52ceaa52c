/** Leases and waits, as those who had them saw them. */
import type { HistoryEvent } from '../history/index.js'
import { milliseconds, type Trail } from './violation.js'

/** An end that a history does not tell. */
export const NEVER = 2n ** 63n

/** One lease, as its holder saw it. */
export interface Hold {
  readonly key: string
  readonly client: string
  readonly pid: number
  /** At its beginning. */
  readonly weight: number
  readonly capacity: number
  readonly claim: string | undefined
  readonly token: bigint | undefined
  /** When it was asked for. */
  readonly invokedNs: bigint
  /** When the store acknowledged that its holder waited, if it did. */
  readonly enqueuedNs: bigint | undefined
  /** When the holder was told. */
  readonly startNs: bigint
  /**
   * When the holder gave it up, was told of the loss, saw it, was killed, or had to stop believing.
   */
  readonly endNs: bigint
  /** Until when the holder was to believe in it without news. */
  readonly deadlineNs: bigint
  /** When a writer began to become a reader, and what it weighed from then on. */
  readonly lowered: { readonly atNs: bigint; readonly weight: number } | undefined
  /** When it was given back, and what the answer was: `ok` says released, `fail` says lost. */
  readonly release: Release | undefined
  /** When the holder saw `held` to be true though the lease was over, for the first time. */
  readonly overdue: HistoryEvent | undefined
  readonly trail: Trail
}

export interface Release {
  readonly askedNs: bigint
  readonly answeredNs: bigint | undefined
  readonly answer: 'ok' | 'fail' | 'info' | undefined
}

/** A wish for a lock that did not become a lease. */
export interface Wait {
  readonly key: string
  readonly client: string
  readonly pid: number
  readonly weight: number
  readonly capacity: number
  readonly invokedNs: bigint
  readonly enqueuedNs: bigint | undefined
  /**
   * When it failed, became unclear, or its process was killed; missing when it waits to the end of
   * the history.
   */
  readonly endNs: bigint | undefined
  readonly trail: Trail
}

/** Groups what is of one lock each, in the order given. */
export function byKey<Item extends { readonly key: string }>(
  items: readonly Item[],
): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const group = groups.get(item.key)
    if (group) group.push(item)
    else groups.set(item.key, [item])
  }
  return groups
}

/** Where the holds begin that begin after a moment, in a list in the order of their beginnings. */
export function placeAfter(byStart: readonly Hold[], atNs: bigint): number {
  let [low, high] = [0, byStart.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((byStart[middle] as Hold).startNs <= atNs) low = middle + 1
    else high = middle
  }
  return low
}

/** The first of them. */
export function firstAfter(byStart: readonly Hold[], atNs: bigint): Hold | undefined {
  return byStart[placeAfter(byStart, atNs)]
}

/** A hold as a part of a sentence. */
export function describe({ client, pid, token, startNs, endNs }: Hold): string {
  const until = endNs === NEVER ? 'without an end' : `for ${milliseconds(endNs - startNs)}`
  return `${client} (pid ${pid}, token ${token ?? 'none'}, from ${startNs} ns ${until})`
}
