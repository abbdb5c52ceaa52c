/** Leases and waits, as their clients saw them. */
import type { HistoryEvent } from '../history/index.js'
import { milliseconds, type Trail } from './violation.js'

/** The end of what has none in the history. */
export const NEVER = 2n ** 63n

/** One lease, as its holder saw it. */
export interface Hold {
  readonly key: string
  readonly client: string
  readonly pid: number
  /** When the lease began. */
  readonly weight: number
  readonly capacity: number
  readonly claim: string | undefined
  readonly token: bigint | undefined
  /** When the client requested it. */
  readonly invokedNs: bigint
  /** When the store acknowledged that the client waits, if it had to. */
  readonly enqueuedNs: bigint | undefined
  /** When the client learned of the grant. */
  readonly startNs: bigint
  /** When the holder released it, learned of the loss, was killed, or reached the deadline. */
  readonly endNs: bigint
  /** Until when the holder may trust it without another renewal. */
  readonly deadlineNs: bigint
  /** When a writer asked for a downgrade, and its weight from then on. */
  readonly lowered: { readonly atNs: bigint; readonly weight: number } | undefined
  /** When it was released, and the answer: `ok` is released, `fail` is lost. */
  readonly release: Release | undefined
  /** The first time that `held` was true after the lease had ended. */
  readonly overdue: HistoryEvent | undefined
  readonly trail: Trail
}

/** A release, and the answer that its client got. */
export interface Release {
  /** When the client asked, in nanoseconds. */
  readonly askedNs: bigint
  /** When the answer came, in nanoseconds; undefined without one. */
  readonly answeredNs: bigint | undefined
  /** `ok` for released, `fail` for lost, `info` for in doubt. */
  readonly answer: 'ok' | 'fail' | 'info' | undefined
}

/** A request for a lock that did not become a lease. */
export interface Wait {
  readonly key: string
  readonly client: string
  readonly pid: number
  readonly weight: number
  readonly capacity: number
  readonly invokedNs: bigint
  readonly enqueuedNs: bigint | undefined
  /**
   * When it failed, became in doubt, or its process was killed. Undefined when it waits to the end
   * of the history.
   */
  readonly endNs: bigint | undefined
  readonly trail: Trail
}

/** Groups the items by lock, in the given order. */
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

/** Returns the index of the first hold that begins after a moment, in a sorted list. */
export function indexAfter(byStart: readonly Hold[], atNs: bigint): number {
  let [low, high] = [0, byStart.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((byStart[middle] as Hold).startNs <= atNs) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns the first hold that begins after a moment, in a sorted list. */
export function firstAfter(byStart: readonly Hold[], atNs: bigint): Hold | undefined {
  return byStart[indexAfter(byStart, atNs)]
}

/** Returns the hold as part of a sentence. */
export function describe({ client, pid, token, startNs, endNs }: Hold): string {
  const until = endNs === NEVER ? 'without an end' : `for ${milliseconds(endNs - startNs)}`
  return `${client} (pid ${pid}, token ${token ?? 'none'}, from ${startNs} ns ${until})`
}
