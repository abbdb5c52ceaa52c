/** What checkers find, and the piece of history that shows it. */
import type { HistoryEvent } from '../history/index.js'

/** A broken promise, with the events that prove it. */
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

/** How many violations of one lock a checker lists. A broken lock has one at every grant. */
export const MOST_VIOLATIONS = 100

/** The events of a hold or wait, the latest first. Linked: arrays took four times as long. */
export interface Trail {
  readonly event: HistoryEvent
  readonly before: Trail | undefined
}

/** Returns the events of several holds, waits or operations as one piece of a history. */
export function piece(...parts: readonly { readonly trail: Trail }[]): HistoryEvent[] {
  const all = new Set<HistoryEvent>()
  for (const part of parts) {
    for (let trail: Trail | undefined = part.trail; trail; trail = trail.before)
      all.add(trail.event)
  }
  return [...all].sort((a, b) => compare(a.t_ns, b.t_ns))
}

/** Returns the events in the order of time: the same array when they are sorted already. */
export function inOrder(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  let before: HistoryEvent | undefined
  for (const event of events) {
    // Sorting a million events takes a second, and most are sorted already.
    if (before && event.t_ns < before.t_ns)
      return events.toSorted((a, b) => compare(a.t_ns, b.t_ns))
    before = event
  }
  return events
}

export function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Formats nanoseconds as milliseconds. */
export function milliseconds(ns: bigint): string {
  return `${(Number(ns) / 1e6).toFixed(3)} ms`
}
