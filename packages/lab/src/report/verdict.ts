/** What is said of a strategy in the end. */
import type { OversellRow } from '../scenarios/oversell/rush.js'
import { fill, type Texts } from '../text/texts.js'
import { milliseconds } from './figures.js'

/** Sound strategies first; among themselves in the order in which they were played. */
export function soundFirst(rows: readonly OversellRow[]): readonly OversellRow[] {
  return [...rows.filter(({ damaged }) => !damaged), ...rows.filter(({ damaged }) => damaged)]
}

export function verdictOf(row: OversellRow, { oversell }: Texts): string {
  if (!row.damaged) return oversell.fine
  if (row.stuck) return oversell.stuckVerdict
  if (row.oversold > 0) return oversell.oversoldVerdict
  if (row.lostUpdates > 0) return oversell.lostVerdict
  if (row.unserved > 0) return oversell.unservedVerdict
  return fill(oversell.blockedVerdict, { ms: milliseconds(row.bystanderMs ?? 0) })
}
