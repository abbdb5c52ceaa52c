/**
 * Prints what happened in a run: the faults, who asked for the lock, who held it from when to when,
 * and what broke.
 */
import type { HistoryEvent } from '@holdfast/conformance'
import type { Case } from './case.js'
import type { Fault } from './faults/fault.js'
import type { Finding } from './judge/judge.js'
import type { Outcome } from './run.js'
import type { ServerHold } from './server/truth.js'

interface Line {
  readonly atMs: number
  readonly text: string
}

/** More would not be read. The story says how many lines it leaves out. */
const MOST_LINES = 60
/** How long before the first event of a finding its story begins. */
const LEAD_MS = 1500

export function tellStory(plan: Case, outcome: Outcome, finding: Finding): string {
  const fromMs = beginning(finding) - LEAD_MS
  const lines = [
    ...plan.faults.map((fault) => ({ atMs: fault.atMs, text: `fault: ${describeFault(fault)}` })),
    ...outcome.events.filter((event) => concerns(event, finding)).map(eventLine),
    ...outcome.serverHolds.filter(({ lock }) => lock === finding.key).flatMap(serverLines),
  ]
    .filter(({ atMs, text }) => atMs >= fromMs || text.startsWith('fault'))
    .sort((a, b) => a.atMs - b.atMs)
  const untilMs = ending(finding, lines)
  const until = lines.filter(({ atMs }) => atMs <= untilMs)
  const shown = until.slice(-MOST_LINES)
  return [
    `broken: ${finding.property}`,
    `  ${finding.message}`,
    ...(until.length > shown.length
      ? [`  (${until.length - shown.length} earlier lines are left out)`]
      : []),
    ...shown.map(({ atMs, text }) => `${atMs.toFixed(3).padStart(12)} ms  ${text}`),
  ].join('\n')
}

function beginning({ events = [] }: Finding): number {
  return events.length === 0 ? -Infinity : Math.min(...events.map(timeOf))
}

/** A little after the last event of the finding, so that the reader sees what followed. */
function ending({ events = [] }: Finding, lines: readonly Line[]): number {
  const shown = events.filter(({ f }) => f !== 'truth').map(timeOf)
  return shown.length === 0 ? (lines.at(-1)?.atMs ?? 0) : Math.max(...shown) + 1
}

function concerns({ key, f }: HistoryEvent, finding: Finding): boolean {
  return key === finding.key || f === 'kill' || finding.key === ''
}

function timeOf({ t_ns }: HistoryEvent): number {
  return Number(t_ns) / 1e6
}

function eventLine(event: HistoryEvent): Line {
  const { client, pid, key, f, type, weight, capacity, token, deadline_ns, value, claim } = event
  const details = [
    weight !== undefined && capacity !== undefined && capacity > 1
      ? `weight ${weight} of ${capacity}`
      : '',
    token === undefined ? '' : `token ${token}`,
    claim === undefined ? '' : `claim ${claim}`,
    deadline_ns === undefined ? '' : `until ${(Number(deadline_ns) / 1e6).toFixed(3)}`,
    value === undefined ? '' : `value ${value}`,
  ].filter((detail) => detail !== '')
  return {
    atMs: timeOf(event),
    text: `${client} (pid ${pid}) ${key} ${f} ${type} ${details.join(', ')}`.trim(),
  }
}

function serverLines({ lock, claimId, token, startMs, endMs, ended }: ServerHold): Line[] {
  const who = `server: ${lock} of claim ${claimId}, token ${token ?? 'none'}`
  return [
    { atMs: startMs, text: `${who} begins` },
    { atMs: endMs, text: `${who} ends (${ended === 'no' ? 'will expire' : ended})` },
  ]
}

/** What a line on a fault says anyway. */
const SAID = new Set(['kind', 'atMs', 'forMs'])

function describeFault(fault: Fault): string {
  const { kind, forMs } = fault
  const details = Object.entries(fault)
    .filter(([name]) => !SAID.has(name))
    .map(([name, value]) => `${name} ${shorten(value)}`)
  const lasting = forMs > 0 ? `for ${forMs.toFixed(0)} ms` : 'once'
  return [kind, lasting, ...details].join(', ')
}

function shorten(value: unknown): string {
  return typeof value === 'number' ? String(Math.round(value * 1000) / 1000) : String(value)
}
