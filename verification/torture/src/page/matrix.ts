/** What each store promises under each fault, and what marks, faults and words of that say. */
import { STORE_NAMES, storeOf } from '@holdfast/stores'
import { FAULT_KINDS, FAULTS, type FaultKind } from '@holdfast/stores/faults/catalogue'
import { PROPERTIES, PROPERTY_NAMES } from '../promised.js'
import type { RecordedCell, Results } from '../record.js'
import { anchor, countOf, table } from './markdown.js'

const TEXT = `**Promised** means that no violation is allowed: one would fail the run. **Not promised** means that
the service cannot give it: what happens is counted, and the other promises are still checked. A
mark leads to its recording.

✓ promised, and kept · ✗ promised, and broken · a number: something is not promised, and so often it
was missing · ○ not recorded yet · – cannot happen, or is not driven here: each store below has the
reason.`

export function matrix(results: ReadonlyMap<string, Results>): string {
  const rows = FAULT_KINDS.map((kind) => [
    `\`${kind}\``,
    ...STORE_NAMES.map((store) => mark(store, kind, results.get(store)?.cells[kind])),
  ])
  return `## Store and fault\n\n${TEXT}\n\n${table(['fault', ...STORE_NAMES], rows)}`
}

function mark(store: string, kind: FaultKind, cell: RecordedCell | undefined): string {
  const promise = storeOf(store).torture.promises[kind]
  if (promise.verdict === 'absent') return '–'
  if (!cell) return '○'
  const kept = promise.verdict === 'promised' ? '✓' : String(countOf(cell.seen))
  return `[${countOf(cell.broken) > 0 ? '✗' : kept}](#${anchor(store, kind)})`
}

export function faults(): string {
  const rows = FAULT_KINDS.map((kind) => [`\`${kind}\``, FAULTS[kind].title])
  return `## The faults\n\n${table(['fault', 'what is done'], rows)}`
}

export function promises(): string {
  const rows = PROPERTY_NAMES.map((name) => [`\`${name}\``, PROPERTIES[name]])
  return `## What is checked\n\n${table(['promise', 'says'], rows)}`
}
