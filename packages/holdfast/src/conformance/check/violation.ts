/** What a checker found. */
import type { HistoryEvent } from '../history/index.js'

export interface Violation {
  /** Which promise was broken. */
  readonly property: string
  /** The lock. */
  readonly key: string
  /** A sentence for people. */
  readonly message: string
  /** The piece of the history that shows it, in the order of time. */
  readonly events: readonly HistoryEvent[]
}

/**
 * As many violations a checker lists of one lock. A lock that excludes nobody breaks its promise at
 * every grant, and nobody reads the second hundred.
 */
export const MOST_VIOLATIONS = 100

/**
 * The events that something was learnt from, the latest first. A list in links: a million arrays
 * cost four times that.
 */
export interface Trail {
  readonly event: HistoryEvent
  readonly before: Trail | undefined
}

/** The events of several holds, waits or operations, as one piece of a history. */
export function piece(...parts: readonly { readonly trail: Trail }[]): HistoryEvent[] {
  const all = new Set<HistoryEvent>()
  for (const part of parts) {
    for (let trail: Trail | undefined = part.trail; trail; trail = trail.before)
      all.add(trail.event)
  }
  return [...all].sort((a, b) => compare(a.t_ns, b.t_ns))
}

/**
 * Events in the order of time; those of one moment stay as they are. Gives the very array where it
 * is in order.
 */
export function inOrder(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  let before: HistoryEvent | undefined
  for (const event of events) {
    // Sorting costs a second for a million events, and mostly they come sorted.
    if (before && event.t_ns < before.t_ns)
      return events.toSorted((a, b) => compare(a.t_ns, b.t_ns))
    before = event
  }
  return events
}

export function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Nanoseconds as people read them. */
export function milliseconds(ns: bigint): string {
  return `${(Number(ns) / 1e6).toFixed(3)} ms`
}
