/**
 * Keeps what was seen: one file a store, with a cell for each fault by itself and one for all
 * promised ones together.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Command } from './command.js'
import type { AnyFaultKind } from '@holdfast/stores/faults/catalogue'
import type { JudgedRun } from './judge/judged-run.js'
import { isBroken } from './judge/judgement.js'
import { commandOf } from './judge/reproduce.js'
import type { Distribution } from './judge/announcements.js'
import type { AnyProperty } from './command-line/promised.js'
import { faultsOf, promisedFaults } from './promised.js'
import type { SubjectName } from './protocol.js'

const RESULTS = fileURLToPath(new URL('../results/', import.meta.url))

export interface RecordedCell {
  readonly command: string
  readonly recorded: string
  readonly seconds: number
  readonly faults: number
  readonly leases: number
  readonly operations: number
  readonly losses: number
  /** Leases that passed to another process, and those of them whose exporter had been killed. */
  readonly adopted?: number
  readonly adoptedOfKilled?: number
  readonly awake?: Distribution
  readonly woken?: Distribution
  /** The longest wait after healing, in milliseconds. */
  readonly drainMs: number
  /** How often a promise was broken, and how often something was seen that was not promised. */
  readonly broken: Partial<Record<AnyProperty, number>>
  readonly seen: Partial<Record<AnyProperty, number>>
}

export interface Results {
  readonly name: string
  readonly machine: { readonly node: string; readonly platform: string; readonly cores: number }
  readonly cells: Record<string, RecordedCell>
}

/** The runs that a recording is made of: by the name of the cell. */
export function cellsOf(
  command: Command,
  store: string,
  subject: SubjectName,
): [string, readonly AnyFaultKind[]][] {
  const kinds = command.faultsFor(store)
  if (subject === 'command-line') return [[store, kinds]]
  const together = promisedFaults(store).filter((kind) => kinds.includes(kind))
  if (subject !== 'holdfast') return [[subject, together]]
  if (command.waiters > 0) return [['crowded', kinds]]
  if (command.together) return [[command.together, together]]
  const alone = faultsOf(store).filter((kind) => kinds.includes(kind))
  const cells: [string, readonly AnyFaultKind[]][] = alone.map((kind) => [kind, [kind]])
  return together.length > 1 ? [...cells, ['mixed', together]] : cells
}

export function keep(cell: string, ran: JudgedRun): void {
  const { store, subject } = ran.options
  const name = fileOf(store, subject)
  const file = `${RESULTS}${name}.json`
  mkdirSync(RESULTS, { recursive: true })
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Results).cells : {}
  const results: Results = {
    name,
    machine: {
      node: process.versions.node,
      platform: process.platform,
      cores: availableParallelism(),
    },
    cells: { ...before, [cell]: recorded(ran) },
  }
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)
  if (isBroken(ran) && (subject === 'holdfast' || subject === 'command-line'))
    console.log(`A promise was broken: ${commandOf(ran.options)}`)
}

function fileOf(store: string, subject: SubjectName): string {
  if (subject === 'holdfast') return store
  return subject === 'command-line' ? subject : `${subject.split(':')[0] ?? subject}s`
}

function recorded({ options, outcome, judgement }: JudgedRun): RecordedCell {
  const { awake, woken } = judgement.announcements
  const { adopted, ofKilled } = judgement.adoptions
  return {
    command: commandOf(options),
    recorded: new Date().toISOString().slice(0, 10),
    seconds: options.seconds,
    faults: outcome.chronicle.happenings.length,
    leases: judgement.leases,
    operations: judgement.operations,
    losses: judgement.losses,
    ...(adopted === 0 ? {} : { adopted, adoptedOfKilled: ofKilled }),
    ...(awake ? { awake: rounded(awake) } : {}),
    ...(woken ? { woken: rounded(woken) } : {}),
    drainMs: Math.round(judgement.drainMs),
    broken: counted(judgement.findings.filter(({ promised }) => promised)),
    seen: counted(judgement.findings.filter(({ promised }) => !promised)),
  }
}

function rounded({ count, p50, p90, p99, max }: Distribution): Distribution {
  return { count, p50: round(p50), p90: round(p90), p99: round(p99), max: round(max) }
}

function round(value: number): number {
  return Number(value.toFixed(1))
}

function counted(
  findings: readonly { readonly property: AnyProperty }[],
): Partial<Record<AnyProperty, number>> {
  const counts: Partial<Record<AnyProperty, number>> = {}
  for (const { property } of findings) counts[property] = (counts[property] ?? 0) + 1
  return counts
}
