/** What `holdfast console` writes to stderr while it runs. */
import type { ConsoleAction } from '../../console/index.js'
import type { StoreView } from '../../console/view.js'
import { redact } from '../../url/redact.js'
import type { Finding } from '../doctor/check.js'
import { isoTime } from '../output/json.js'
import { note } from '../output/note.js'

/** Writes an action to the audit: one line. */
export function writeAction(action: ConsoleAction): void {
  const { atMs, user, action: what, lock, claimId, outcome, reason, text } = action
  const why = reason === undefined ? '' : ` reason ${JSON.stringify(reason)}`
  const end = text === undefined ? '' : ` (${text})`
  note(
    `${isoTime(atMs)} ${user} ${what} ${JSON.stringify(lock)} claim ${claimId}: ${outcome}${why}${redact(end)}`,
  )
}

/** Returns the findings of `holdfast doctor` for the page. */
export function findingsFor(findings: readonly Finding[]): NonNullable<StoreView['findings']> {
  return findings.map(({ check, verdict, text }) => ({
    isFine: verdict === 'ok',
    text: `${check}: ${redact(text)}`,
  }))
}
