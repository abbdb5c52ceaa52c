/** What a run is judged to have kept and broken. */
import type { HistoryEvent } from '@holdfast/conformance'
import type { AnyProperty } from '../command-line/promised.js'
import type { Announcements } from './announcements.js'

export interface Finding {
  readonly property: AnyProperty
  /** What the checker calls it. */
  readonly kind: string
  readonly key: string
  readonly message: string
  /** The piece of the history that shows it, where there is one. */
  readonly events: readonly HistoryEvent[]
  readonly promised: boolean
}

export interface Verdict {
  readonly property: AnyProperty
  /**
   * `kept` and `broken` where it was promised, `waived` where it was not, `none` where there was
   * nothing to judge.
   */
  readonly outcome: 'kept' | 'broken' | 'waived' | 'none'
  readonly violations: number
  readonly because?: string
}

/** How many leases were adopted, and how many of those after their exporter had been killed. */
export interface Adoptions {
  readonly adopted: number
  readonly ofKilled: number
}

export interface Judgement {
  readonly verdicts: readonly Verdict[]
  readonly findings: readonly Finding[]
  readonly announcements: Announcements
  readonly operations: number
  readonly leases: number
  readonly adoptions: Adoptions
  readonly losses: number
  /** The longest wait after healing, in milliseconds. */
  readonly drainMs: number
}

/** Whether a promise was broken. */
export function isBroken({ judgement }: { readonly judgement: Judgement }): boolean {
  return judgement.verdicts.some(({ outcome }) => outcome === 'broken')
}
