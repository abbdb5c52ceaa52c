/** The page and the JSON of `holdfast deadlocks`. */
import type { Deadlock, DeadlockStep } from '../../index.js'
import { formatDuration } from '../args/duration.js'
import { isoTime } from './json.js'
import { renderTable, type Column, type TableOptions } from './table.js'
import { redact } from '../../url/redact.js'
import { printable } from './text.js'

/** A step of a cycle, and its place there. */
interface CycleRow {
  readonly step: DeadlockStep
  readonly line: string
}

const COLUMNS: readonly Column<CycleRow>[] = [
  { title: 'LOCK', cell: ({ step, line }) => `${line} ${printable(step.lock)}` },
  { title: 'HELD BY', cell: ({ step }) => printable(`${step.host} pid ${step.pid}`) },
  { title: 'WAITS FOR', cell: ({ step }) => printable(step.waitsFor) },
  { title: 'CLAIM', cell: ({ step }) => printable(step.claimId), optional: 1 },
  { title: 'LABEL', cell: ({ step }) => printable(redact(step.label ?? '')), shrinksTo: 10 },
]

export function renderDeadlocks(
  deadlocks: readonly Deadlock[],
  nowMs: number,
  options: TableOptions = {},
): string {
  if (deadlocks.length === 0) return 'No holders wait for each other.\n'
  return deadlocks.map((deadlock) => renderDeadlock(deadlock, nowMs, options)).join('\n')
}

function renderDeadlock({ steps, victim }: Deadlock, nowMs: number, options: TableOptions): string {
  const rows = steps.map((step, index): CycleRow => ({ step, line: lineOf(index, steps.length) }))
  const last = steps.at(-1)
  const waitedMs = Math.max(0, nowMs - victim.sinceMs)
  const advice = last
    ? `\nThe wait of ${printable(last.host)} pid ${last.pid} began last, ${formatDuration(waitedMs)} ago: it fails next.\n`
    : ''
  return renderTable(rows, COLUMNS, options) + advice
}

/** Draws the cycle: each row waits for the next one, and the last for the first. */
function lineOf(index: number, count: number): string {
  if (count === 1) return '⟲'
  if (index === 0) return '┌▶'
  return index === count - 1 ? '└─' : '│ '
}

export function deadlockJson({ id, steps, victim }: Deadlock): object {
  return {
    id,
    steps: steps.map((step) => ({
      lock: step.lock,
      claimId: step.claimId,
      clientId: step.clientId,
      host: step.host,
      pid: step.pid,
      label: step.label === undefined ? null : redact(step.label),
      waitsFor: step.waitsFor,
    })),
    latestWait: { lock: victim.lock, waitingSince: isoTime(victim.sinceMs) },
  }
}
