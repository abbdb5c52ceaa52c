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
 * As many violations a checker lists of one lock. A lock that excludes nobody breaks its promise at every grant, and
 * nobody reads the second hundred.
 */
export const MOST_VIOLATIONS = 100

/** The events of several holds or waits, as one piece of a history. */
export function piece(...parts: readonly { readonly events: readonly HistoryEvent[] }[]): HistoryEvent[] {
  const all = new Set(parts.flatMap(({ events }) => events))
  return inOrder([...all])
}

/** Events in the order of time; those of one moment stay as they are. Gives the very array where it is in order. */
export function inOrder<Event extends { readonly t_ns: bigint }>(events: Event[]): Event[]
export function inOrder<Event extends { readonly t_ns: bigint }>(events: readonly Event[]): readonly Event[]
export function inOrder<Event extends { readonly t_ns: bigint }>(events: readonly Event[]): readonly Event[] {
  let before: Event | undefined
  for (const event of events) {
    // Sorting costs a second for a million events, and mostly they come sorted.
    if (before && event.t_ns < before.t_ns) return events.toSorted((a, b) => compare(a.t_ns, b.t_ns))
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
