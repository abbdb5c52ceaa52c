/**
 * Writes `docs/guarantees.md` from the table of promises and the recorded results: `npm run
 * torture:page`. With `--check` it only says whether the page is as it would be written now.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { FAULT_KINDS, FAULTS, type FaultKind } from '@holdfast/stores/faults/catalogue'
import { RUN_PROPERTIES, RUN_PROPERTY_NAMES, type AnyProperty } from './command-line/promised.js'
import { faultsOf, PROPERTIES, PROPERTY_NAMES } from './promised.js'
import type { RecordedCell, Results } from './record.js'
import { STORE_NAMES, storeOf } from '@holdfast/stores'

const RESULTS = fileURLToPath(new URL('../results/', import.meta.url))
const PAGE = fileURLToPath(new URL('../../../docs/guarantees.md', import.meta.url))

const HEAD = `# Guarantees

What each store promises under each fault, and what was seen when the fault was made to happen: to
several processes with the real library, on the real service. Made from
\`verification/torture/results/*.json\`, which \`npm run torture -- --record\` writes.
[torture.md](internals/torture.md) describes a run, and [failure-modes.md](failure-modes.md) what
your program sees under each fault.

**Promised** means that no violation is allowed: one would fail the run. **Not promised** means that
the service cannot give it: what happens is counted, and the promises that remain are still checked.
Where leases have fencing tokens these always remain, so that a resource that checks them is safe
under every fault of this page.
`

function main(): Promise<void> {
  return process.argv.includes('--check') ? check() : write()
}

async function write(): Promise<void> {
  writeFileSync(PAGE, await render())
}

async function check(): Promise<void> {
  if (existsSync(PAGE) && readFileSync(PAGE, 'utf8') === (await render())) return
  console.error(
    'docs/guarantees.md is not what verification/torture/results and the table of promises say: npm run torture:page',
  )
  process.exitCode = 1
}

async function render(): Promise<string> {
  const results = readResults()
  const parts = [HEAD, promises(), total(results), matrix(results)]
  for (const store of STORE_NAMES) parts.push(section(store, results.get(store)))
  parts.push(commandLine(results.get('command-line')))
  parts.push(others('Other libraries', PEERS_TEXT, results.get('peers')))
  parts.push(others('Broken locks', CONTROLS_TEXT, results.get('controls')))
  const config = await resolveConfig(PAGE)
  return format(parts.join('\n\n'), { ...config, parser: 'markdown' })
}

function readResults(): Map<string, Results> {
  const files = existsSync(RESULTS)
    ? readdirSync(RESULTS).filter((name) => name.endsWith('.json'))
    : []
  return new Map(
    files.map((name) => {
      const results = JSON.parse(readFileSync(`${RESULTS}${name}`, 'utf8')) as Results
      return [results.name, results]
    }),
  )
}

function promises(): string {
  const rows = PROPERTY_NAMES.map((name) => [`\`${name}\``, PROPERTIES[name]])
  return `## What is checked\n\n${table(['promise', 'says'], rows)}`
}

function total(results: ReadonlyMap<string, Results>): string {
  const cells = STORE_NAMES.flatMap((store) => Object.values(results.get(store)?.cells ?? {}))
  const sum = (of: (cell: RecordedCell) => number): string =>
    cells.reduce((all, cell) => all + of(cell), 0).toLocaleString('en')
  return (
    `Recorded: ${cells.length} runs, ${sum(({ seconds }) => seconds)} seconds of faults, ${sum(({ faults }) => faults)} faults, ` +
    `${sum(({ leases }) => leases)} leases, ${sum(({ operations }) => operations)} operations. ` +
    `${sum(({ adopted = 0 }) => adopted)} leases were adopted by another process, ` +
    `${sum(({ adoptedOfKilled = 0 }) => adoptedOfKilled)} of them from a process that had been killed. ` +
    `Violations of what was promised: ${sum(({ broken }) => countOf(broken))}; of what was not: ${sum(({ seen }) => countOf(seen))}.`
  )
}

const MARKS =
  '✓ promised, and kept · ✗ promised, and broken · a number: not promised, and seen so often · ○ promised or not, but not recorded yet · – cannot happen, or is not driven here: see below'

function matrix(results: ReadonlyMap<string, Results>): string {
  const rows = FAULT_KINDS.map((kind) => [
    `\`${kind}\``,
    ...STORE_NAMES.map((store) => mark(store, kind, results.get(store)?.cells[kind])),
  ])
  return `## Store and fault\n\n${MARKS}.\n\n${table(['fault', ...STORE_NAMES], rows)}`
}

function mark(store: string, kind: FaultKind, cell: RecordedCell | undefined): string {
  const promise = storeOf(store).torture.promises[kind]
  if (promise.verdict === 'absent') return '–'
  if (!cell) return '○'
  const text =
    countOf(cell.broken) > 0
      ? '✗'
      : promise.verdict === 'promised'
        ? '✓'
        : String(countOf(cell.seen))
  return `[${text}](#${anchor(store, kind)})`
}

function anchor(store: string, cell: string): string {
  return `${store}-${cell}`
}

function section(store: string, results: Results | undefined): string {
  const cells = results?.cells ?? {}
  const names: Cell[] = [...faultsOf(store), ...TOGETHER.filter((name) => cells[name])]
  const rows = names.map((name) => row(store, name, cells[name]))
  const commands = names.flatMap((name) => {
    const cell = cells[name]
    return cell ? [cell.command] : []
  })
  const machine = results
    ? `Recorded on Node ${results.machine.node}, ${results.machine.platform}, ${results.machine.cores} cores.`
    : 'Not recorded yet.'
  const head = [
    'fault',
    'promised',
    'seconds, faults',
    'leases, operations',
    'broken',
    'seen',
    'losses announced after the deadline',
  ]
  return [
    `## ${storeOf(store).title}`,
    machine,
    table(head, rows),
    ...(commands.length === 0 ? [] : [`\`\`\`sh\n${commands.join('\n')}\n\`\`\``]),
    absences(store),
  ].join('\n\n')
}

/** Cells that are no single fault. */
const TITLES = {
  mixed: 'all of those under which everything is promised, together',
  'passed-on':
    'the same, with leases that pass from process to process, and releases that are not awaited',
  crowded: 'stopped processes, and hundreds of waiters on two locks',
} as const

type Together = keyof typeof TITLES
type Cell = FaultKind | Together

const TOGETHER: readonly Together[] = ['mixed', 'passed-on', 'crowded']

function isTogether(name: Cell): name is Together {
  return name in TITLES
}

function row(store: string, name: Cell, cell: RecordedCell | undefined): string[] {
  const promise = isTogether(name) ? undefined : storeOf(store).torture.promises[name]
  const promised =
    promise?.verdict === 'not promised'
      ? `all but ${promise.without.join(', ')}: ${promise.because}`
      : 'everything'
  const title = isTogether(name) ? TITLES[name] : FAULTS[name].title
  const shown = `<a id="${anchor(store, name)}"></a>\`${name}\`: ${title}`
  if (!cell) return [shown, promised, 'not recorded yet', '', '', '', '']
  return [
    shown,
    promised,
    `${cell.seconds} s, ${cell.faults}`,
    `${cell.leases}, ${cell.operations}`,
    counts(cell.broken),
    counts(cell.seen),
    announcedAfter(cell),
  ]
}

/** Negative figures are before the deadline. */
function announcedAfter({ losses, awake, woken }: RecordedCell): string {
  if (losses === 0) return 'none was lost'
  const parts: string[] = []
  if (awake) parts.push(`p50 ${awake.p50}, p99 ${awake.p99}, max ${awake.max} ms (${awake.count})`)
  if (woken)
    parts.push(
      `after waking: p50 ${woken.p50}, p99 ${woken.p99}, max ${woken.max} ms (${woken.count})`,
    )
  return parts.join('; ')
}

function absences(store: string): string {
  const reasons = new Map<string, FaultKind[]>()
  for (const kind of FAULT_KINDS) {
    const cell = storeOf(store).torture.promises[kind]
    if (cell.verdict === 'absent')
      reasons.set(cell.because, [...(reasons.get(cell.because) ?? []), kind])
  }
  const lines = [...reasons].map(
    ([because, kinds]) => `- ${kinds.map((kind) => `\`${kind}\``).join(', ')}: ${because}.`,
  )
  return lines.length === 0 ? '' : `Not here:\n\n${lines.join('\n')}`
}

const COMMAND_LINE_TEXT = `Several \`holdfast run\` contend for a mutex, a lock with readers and one with permits. Each command holds a file
by flock(2) while it works, so that the kernel says when two are at work at once. Killed and stopped are wrappers, guardians and
commands, one by one and together, beside the faults above.

An overlap is excused by its cause alone, as [the limits](command-line.md#limits) name it: neither the wrapper nor the guardian of the
command that overstays could act (each was killed, or stopped until then), nothing of a late run could act, or the server had
forgotten. It is then counted as seen. Every other one is a violation.`

function commandLine(results: Results | undefined): string {
  const head = [
    'store',
    'seconds, faults',
    'runs, commands at work',
    'broken',
    'seen, with such a cause',
    'runs that lost the lock',
  ]
  const rows = STORE_NAMES.flatMap((store) => {
    const cell = results?.cells[store]
    if (!cell) return []
    return [
      [
        storeOf(store).title,
        `${cell.seconds} s, ${cell.faults}`,
        `${cell.operations}, ${cell.leases}`,
        counts(cell.broken),
        counts(cell.seen),
        `${cell.losses}`,
      ],
    ]
  })
  const promised = RUN_PROPERTY_NAMES.map((name) => [`\`${name}\``, RUN_PROPERTIES[name]])
  const commands = Object.values(results?.cells ?? {}).map(({ command }) => command)
  return [
    '## The command line',
    COMMAND_LINE_TEXT,
    table(['promise', 'says'], promised),
    rows.length === 0 ? 'Not recorded yet.' : table(head, rows),
    ...(commands.length === 0 ? [] : [`\`\`\`sh\n${commands.join('\n')}\n\`\`\``]),
  ].join('\n\n')
}

const PEERS_TEXT = `The same faults on the same Redis, under which Holdfast keeps everything above. Each is
used as a careful program would, with renewal and the news of a loss where the library has them.
None has fencing tokens. A violation here is what a holder was led to believe, by the library's own
means, while another client held the lock as well.`

const CONTROLS_TEXT = `The locks of \`verification/broken-locks/\`, each with one trap in it, on the real
Redis under the same faults: what this harness catches. Traps that need one exact moment are caught
by the simulator and its directed scenarios, and often not by chance.`

function others(title: string, text: string, results: Results | undefined): string {
  if (!results) return ''
  const rows = Object.entries(results.cells).map(([name, cell]) => [
    `\`${name.split(':')[1] ?? name}\``,
    `${cell.seconds} s, ${cell.faults}`,
    `${cell.leases}`,
    counts(cell.broken),
    counts(cell.seen),
    `\`--subject ${name}\``,
  ])
  const [first] = Object.values(results.cells)
  const command = first ? `\n\n\`\`\`sh\n${first.command}\n\`\`\`` : ''
  const head = [
    'lock',
    'seconds, faults',
    'leases',
    'violations',
    'late writes that nothing refused',
    'again',
  ]
  return `## ${title}\n\n${text}\n\n${table(head, rows)}${command}`
}

function counts(found: Partial<Record<AnyProperty, number>>): string {
  const parts = Object.entries(found).map(([property, count]) => `${count} ${property}`)
  return parts.length === 0 ? 'none' : parts.join(', ')
}

function countOf(found: Partial<Record<AnyProperty, number>>): number {
  return Object.values(found).reduce((sum, count) => sum + count, 0)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

await main()
