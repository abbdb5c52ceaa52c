/** The rows of the table that a viewer sees. */
import { ageOf, holderView, kindOf } from '../lock/holder-view.js'
import type { KnownLock } from '../look/known-lock.js'
import type { Row, Trouble } from '../view.js'

const MOST_HOLDERS = 3

export interface RowNotes {
  readonly marks: readonly Trouble['kind'][]
  readonly silentCount: number
}

export function rowOf(known: KnownLock, { marks, silentCount }: RowNotes, nowMs: number): Row {
  const { lock, info, waitingSinceMs, waiterCount } = known
  const isWaitedFor = Number.isFinite(waitingSinceMs)
  return {
    lock,
    kind: kindOf(known),
    holders: info.holders.slice(0, MOST_HOLDERS).map((holder) => holderView(known, holder, nowMs)),
    holderCount: info.holders.length,
    waiterCount,
    ...(silentCount > 0 ? { silentCount } : {}),
    ...(isWaitedFor ? { oldestWaitMs: Math.max(0, Math.round(nowMs - waitingSinceMs)) } : {}),
    marks,
    ageMs: ageOf(known, nowMs),
  }
}
