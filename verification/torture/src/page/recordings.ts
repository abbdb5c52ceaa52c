/** What was recorded: a table for each store, and one for the command line. */
import { STORE_NAMES, storeOf } from '@holdfast/stores'
import { FAULT_KINDS, type FaultKind } from '@holdfast/stores/faults/catalogue'
import { RUN_PROPERTIES, RUN_PROPERTY_NAMES } from '../command-line/promised.js'
import { faultsOf } from '../promised.js'
import type { RecordedCell, Results } from '../record.js'
import { anchor, counts, table } from './markdown.js'

export const RECORDINGS_TEXT = `## Recordings

A row is one run. \`verification/torture/results/\` has the command that repeats each, and its raw
figures. Every run has several processes, and TTLs of a few seconds. **Losses** counts leases that
ended without a release. **Latest news** says how long after its deadline the last of their holders
learned of it. A process that was stopped counts from its waking. _in time_: all learned it at the
deadline or before.`

/** Cells that are no single fault. */
const TOGETHER = {
  mixed: 'all faults under which everything is promised, together',
  'passed-on': 'the same, with leases that pass between processes, and releases not awaited',
  crowded: 'stopped processes, and hundreds of waiters on two locks',
} as const

type Cell = FaultKind | keyof typeof TOGETHER

function isTogether(name: Cell): name is keyof typeof TOGETHER {
  return name in TOGETHER
}

export function recordingsOf(store: string, results: Results | undefined): string {
  const cells = results?.cells ?? {}
  const together = (Object.keys(TOGETHER) as (keyof typeof TOGETHER)[]).filter(
    (name) => cells[name],
  )
  const names: Cell[] = [...faultsOf(store), ...together]
  const head = ['fault', 'seconds', 'faults', 'leases', 'broken', 'seen', 'losses', 'latest news']
  return [
    `### ${storeOf(store).title}`,
    machineOf(results),
    table(
      head,
      names.map((name) => row(store, name, cells[name])),
    ),
    [...limits(store), ...absences(store)].join('\n'),
  ].join('\n\n')
}

function machineOf(results: Results | undefined): string {
  if (!results) return 'Not recorded yet.'
  const { node, platform, cores } = results.machine
  return `Recorded on Node ${node}, ${platform}, ${cores} cores.`
}

function row(store: string, name: Cell, cell: RecordedCell | undefined): string[] {
  const title = isTogether(name) ? `: ${TOGETHER[name]}` : ''
  const shown = `<a id="${anchor(store, name)}"></a>\`${name}\`${title}`
  if (!cell) return [shown, 'not yet', '', '', '', '', '', '']
  return [
    shown,
    ...[cell.seconds, cell.faults, cell.leases].map(String),
    counts(cell.broken),
    counts(cell.seen),
    String(cell.losses),
    latestNews(cell),
  ]
}

function latestNews({ losses, awake, woken }: RecordedCell): string {
  if (losses === 0) return '–'
  const parts: string[] = []
  if (awake && awake.max > 0) parts.push(`${awake.max} ms`)
  if (woken && woken.max > 0) parts.push(`${woken.max} ms after waking`)
  return parts.length === 0 ? 'in time' : parts.join(', ')
}

/** What is not promised, in a list: a table would be wider than a screen. */
function limits(store: string): string[] {
  return FAULT_KINDS.flatMap((kind) => {
    const cell = storeOf(store).torture.promises[kind]
    if (cell.verdict !== 'not promised') return []
    return [`- \`${kind}\`: all but ${cell.without.join(', ')}: ${cell.because}.`]
  })
}

function absences(store: string): string[] {
  const reasons = new Map<string, FaultKind[]>()
  for (const kind of FAULT_KINDS) {
    const cell = storeOf(store).torture.promises[kind]
    if (cell.verdict === 'absent')
      reasons.set(cell.because, [...(reasons.get(cell.because) ?? []), kind])
  }
  return [...reasons].map(
    ([because, kinds]) =>
      `- Not here: ${kinds.map((kind) => `\`${kind}\``).join(', ')}: ${because}.`,
  )
}

const COMMAND_LINE_TEXT = `Several \`holdfast run\` contend for a mutex, a lock with readers and one with permits. Each command
holds a file by flock(2) while it works, so that the kernel says when two are at work at once.
Killed and stopped are wrappers, guardians and commands, one by one and together, beside the faults
above.

An overlap is excused by its cause alone, as [the limits](command-line.md#limits) name it: neither
the wrapper nor the guardian of the command that overstays could act (each was killed, or stopped
until then), nothing of a late run could act, or the server had forgotten. It is then counted as
seen. Every other one is a violation.`

export function commandLine(results: Results | undefined): string {
  const head = ['store', 'seconds', 'faults', 'runs', 'at work', 'broken', 'seen', 'lost the lock']
  const rows = STORE_NAMES.flatMap((store) => {
    const cell = results?.cells[store]
    if (!cell) return []
    return [
      [
        storeOf(store).title,
        ...[cell.seconds, cell.faults, cell.operations, cell.leases].map(String),
        counts(cell.broken),
        counts(cell.seen),
        `${cell.losses}`,
      ],
    ]
  })
  const promised = RUN_PROPERTY_NAMES.map((name) => [`\`${name}\``, RUN_PROPERTIES[name]])
  return [
    '### The command line',
    COMMAND_LINE_TEXT,
    table(['promise', 'says'], promised),
    rows.length === 0 ? 'Not recorded yet.' : table(head, rows),
  ].join('\n\n')
}
